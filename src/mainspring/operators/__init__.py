"""Ready-made tasks: `command`, `shell` and `http`.

Called in a dag's function, each draws one task, without a function of the author's. The tasks are
ordinary ones of these modules, and what an operator is given are their arguments: parameters and
results may stand in any place that says so, and find their way as they do to any task.
"""

from mainspring.operators.commands import command, shell
from mainspring.operators.requests import http

__all__ = ["command", "http", "shell"]
