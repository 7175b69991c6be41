"""What listeners of the stream are told: the same shapes as elsewhere, and which of them changed.

`whole` says that this is all there is of the topic, in place of what was told before; otherwise it
is what has changed since, to be put over it.
"""

from __future__ import annotations

from mainspring.domain.log_marks import Ending
from mainspring.store.shapes import Dag, Lane, Run, Shape, Task, Worker


class Listening(Shape, frozen=True, kw_only=True):
    """From here on changes of these topics are told."""

    server: str
    topics: list[str]


class Beat(Shape, frozen=True, kw_only=True):
    """Nothing has changed for a while; whoever hears not even this is cut off."""


class Resync(Shape, frozen=True, kw_only=True):
    """Changes of this topic were left out: what is known of it has to be read anew."""

    topic: str
    reason: str


class End(Shape, frozen=True, kw_only=True):
    """Nothing more will come."""

    reason: str


class RunsChanged(Shape, frozen=True, kw_only=True):
    topic: str
    runs: list[Run]
    """Those that are new or have changed."""


class RunChanged(Shape, frozen=True, kw_only=True):
    topic: str
    whole: bool
    run: Run
    tasks: list[Task]


class LogWritten(Shape, frozen=True, kw_only=True):
    topic: str
    start: int
    """The byte of the log at which `text` begins."""
    end: int
    text: str
    ending: Ending
    """`open`, as long as more may come after `end`."""


class QueuesChanged(Shape, frozen=True, kw_only=True):
    """Always whole."""

    topic: str
    lanes: list[Lane]


class WorkersChanged(Shape, frozen=True, kw_only=True):
    topic: str
    whole: bool
    workers: list[Worker]
    gone: list[int]
    """Ids of those that live no more."""


class DagsChanged(Shape, frozen=True, kw_only=True):
    topic: str
    whole: bool
    dags: list[Dag]
    gone: list[str]
    """Names of those that are listed no more."""
