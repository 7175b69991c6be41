"""`polite`: as `command`, at the lowest priority of the operating system."""

import os

from mainspring.executors.host_command import CommandHost


class PoliteHost(CommandHost):
    """It takes the slots of `command`, as the class that it derives from says."""

    def serve(self) -> None:
        # A host has a process of its own, and programs inherit its priority.
        os.nice(19)
        super().serve()
