"""`mainspring run why`: reads the facts, lets `explain` find the words."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from mainspring.cli.options import home_option, json_option

if TYPE_CHECKING:
    from mainspring.cli.explain import Cause, Explanation
    from mainspring.client import Client
    from mainspring.store.reading import Situation


@click.command()
@click.argument("run")
@click.argument("task", required=False)
@json_option
@home_option
def why(run: str, task: str | None, as_json: bool, home: Path | None) -> None:
    """Why a run, or one task of it, stands where it stands, and what would move it on."""
    from mainspring.cli.session import with_client

    with_client(home, _why, run, task, as_json)


async def _why(client: Client, reference: str, task: str | None, as_json: bool) -> None:
    from mainspring.cli import explain
    from mainspring.cli.given import given_run, given_task
    from mainspring.domain.states import TaskState
    from mainspring.store import reading

    run = await client.ask(reading.read_run, await given_run(client, reference))
    situation = await client.ask(reading.read_situation, run)
    node = None if task is None else given_task(situation.spec, run.id, task)
    roots = explain.told(situation, explain.roots(situation, node))
    told = [situation.tasks[root] for root in roots]
    waiting = [each.id for each in told if each.state is TaskState.READY]
    explanation = explain.explain(
        situation,
        node,
        await client.ask(reading.last_attempts, [each.id for each in told]),
        await client.ask(reading.count_ahead, waiting) if waiting else {},
    )
    if as_json:
        _print_json(situation, node, explanation)
    else:
        _print(node, explanation)


def _print(node: int | None, explanation: Explanation) -> None:
    from rich.console import Group

    from mainspring.cli.output import bullets, console, faint, indented, mark_text
    from mainspring.cli.words import counted
    from mainspring.domain.states import TASK

    out = console()
    out.print(explanation.headline)
    if node is not None and len(explanation.causes) == 1:
        # The headline tells it.
        for line in _steps(explanation.causes[0]):
            out.print(faint(f"  {line}"))
        return
    if not explanation.causes:
        return
    lines = [
        (
            mark_text(TASK.facts[cause.state].tone),
            Group(cause.text, *(faint(line) for line in _steps(cause))),
        )
        for cause in explanation.causes
    ]
    out.print(indented(bullets(lines)))
    if explanation.more:
        out.print(faint(f"  … and {counted(explanation.more, 'other')}"))


def _steps(cause: Cause) -> list[str]:
    return [
        f"→ {step.text}: {step.command}" if step.command else f"→ {step.text}"
        for step in cause.unblocks
    ]


def _print_json(situation: Situation, node: int | None, explanation: Explanation) -> None:
    from mainspring.cli.output import print_json

    run = situation.run
    print_json(
        {
            "run": run.id,
            "dag": run.dag,
            "task": None if node is None else situation.tasks[node].name,
            "state": run.state if node is None else situation.tasks[node].state,
            "headline": explanation.headline,
            "causes": explanation.causes,
            "more": explanation.more,
            "dag_pause": situation.dag.pause,
            "dag_gone_at": situation.dag.gone_at,
        }
    )
