"""`docs/reference/states.md`: every state and move, with diagrams drawn from the same tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from textwrap import fill

from mainspring.domain.states import ATTEMPT, BACKFILL, MACHINES, RUN, TASK, Machine

_HEADER = """\
<!-- Generated from src/mainspring/domain/states.py by `make gen`; do not edit. -->

# States

Runs, tasks, attempts and backfills each follow one state machine. The words below are the same in
the API, on the command line, on the page and in metrics. A state is *open* while more can happen by
itself and *closed* once it is over; only a rerun opens what is closed. Pausing a dag and cancelling
a run are requests, not states: a run that is asked to stop keeps its state until its tasks have
stopped.

The tables of moves are complete. The database itself refuses an update that moves a run, a task or
a backfill in any other way, with SQLSTATE 23514.
"""

_INTROS = {
    RUN.name: "A run is one execution of one version of a dag. Its state follows from its tasks.",
    TASK.name: (
        "A task is one node inside a run. It may take several attempts, and between them it is "
        "`backoff`, `parked` or `ready` again, without holding a slot."
    ),
    ATTEMPT.name: (
        "An attempt is one try of a task by one worker. It ends once, and nothing opens it again: "
        "a retry is a new attempt."
    ),
    BACKFILL.name: (
        "A backfill makes runs for instants of the past. Whether these succeed is their own "
        "affair: it is finished when all of them are over."
    ),
}

_STORED = {
    RUN.name: (
        "The column `run.state` holds {stored}. A run is shown as `queued` while it is stored as "
        "`running` and none of its tasks has started. A run of one task stores no state at all: "
        "its state is read from the task."
    ),
    TASK.name: (
        "The column `task.state` holds {stored}. A task is shown as `running` while it is stored "
        "as `ready` and its row in the table `ready` is gone, because a claim took it. So a claim "
        "writes nothing to the task, and the two share one stored state."
    ),
    ATTEMPT.name: "States are stored as they are shown.",
    BACKFILL.name: "States are stored as they are shown.",
}


def render() -> str:
    return "\n".join((_HEADER, *map(_section, MACHINES)))


def _section(machine: Machine) -> str:
    states = (
        (f"`{state}`", facts.label, "yes" if facts.closed else "no", facts.meaning)
        for state, facts in machine.facts.items()
    )
    moves = ((f"`{move.source}`", f"`{move.target}`", move.when) for move in machine.moves)
    stored = ", ".join(f"`{state}`" for state in machine.stored_states)
    parts = (
        f"## {machine.name.capitalize()}",
        _paragraph(_INTROS[machine.name]),
        _diagram(machine),
        _table(("state", "label", "closed", "meaning"), states),
        _table(("from", "to", "when"), moves),
        _paragraph("**As stored.** " + _STORED[machine.name].format(stored=stored)),
    )
    return "\n\n".join(parts) + "\n"


def _diagram(machine: Machine) -> str:
    """The published moves, without their reasons: twenty labels would hide the arrows."""
    arrows = [("[*]", machine.initial), *((move.source, move.target) for move in machine.moves)]
    ends = [(state, "[*]") for state in machine.facts if state in machine.closed]
    lines = [f"    {source} --> {target}" for source, target in (*arrows, *ends)]
    return "\n".join(("```mermaid", "stateDiagram-v2", "    direction LR", *lines, "```"))


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _paragraph(text: str) -> str:
    return fill(text, 100, break_long_words=False, break_on_hyphens=False)
