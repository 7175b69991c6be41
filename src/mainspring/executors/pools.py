"""The hosts of one (executor, snapshot), and the jobs that wait for them.

A shared kind (async, thread, command) has one host that takes all; a process pool has as many
as there are slots, the warmest first. A host that is to be recycled keeps its running jobs and
takes no more, so a pool may hold older hosts beside those that take jobs.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from mainspring.domain.lanes import SlotKind
from mainspring.domain.outcomes import Outcome

if TYPE_CHECKING:
    from mainspring.executors.host_link import HostLink
    from mainspring.executors.jobs import Job

_BACKOFF_FIRST_SECONDS = 0.2
START_FAILURES_MAX = 3


class Held:
    """A job from `submit` to its end."""

    __slots__ = (
        "ended",
        "job",
        "kill_at",
        "link",
        "only_if_unstarted",
        "reported",
        "sent_at",
        "slot",
        "stop",
        "stop_at",
        "told",
        "tries",
    )

    def __init__(self, job: Job, at: float) -> None:
        self.job = job
        self.link: HostLink | None = None
        """None while it waits for a host."""
        self.slot = 0
        self.sent_at = at
        self.reported = False
        self.told = 0
        """How often it had told its progress when we last looked."""
        self.tries = 0
        self.stop: Outcome | None = None
        """How it ends now that it was asked to stop, by a timeout or from outside."""
        self.stop_at = 0.0
        self.kill_at = 0.0
        self.only_if_unstarted = False
        """Withdrawn rather than stopped: if it has begun after all, it goes on."""
        self.ended = False


class Pool:
    def __init__(self, kind: SlotKind, executor: str, snapshot: str, slots: int) -> None:
        self.kind = kind
        self.executor = executor
        self.snapshot = snapshot
        self.one_each = kind is SlotKind.PROCESS
        self.slots_per_host = 1 if self.one_each else slots
        self.hosts_max = slots if self.one_each else 1
        self.waiting: deque[Held] = deque()
        self.links: list[HostLink] = []
        """All but those made for one job alone."""
        self._failures = 0
        self.retry_at = 0.0

    def with_room(self) -> HostLink | None:
        """A host that can take a job now; the one last used, if there are several."""
        for link in reversed(self.links):
            if link.ready and link.free and not link.retiring:
                return link
        return None

    def hosts_wanted(self, now: float) -> int:
        """How many more hosts the waiting jobs deserve."""
        if not self.waiting or now < self.retry_at:
            return 0
        taking = [link for link in self.links if not link.retiring]
        starting = sum(1 for link in taking if not link.ready)
        wanted = -(-len(self.waiting) // self.slots_per_host) - starting
        return max(0, min(wanted, self.hosts_max - len(taking)))

    def start_failed(self, now: float) -> bool:
        """Note a host that ended before it was ready; True when it is time to give up."""
        self._failures += 1
        self.retry_at = now + _BACKOFF_FIRST_SECONDS * 2 ** (self._failures - 1)
        if self._failures < START_FAILURES_MAX:
            return False
        self._failures = 0
        return True

    def start_succeeded(self) -> None:
        self._failures = 0
        self.retry_at = 0.0

    def used(self, link: HostLink) -> None:
        """Move a process host to the end: it is the warmest."""
        if self.one_each and self.links[-1] is not link:
            self.links.remove(link)
            self.links.append(link)
