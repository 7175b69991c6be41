"""`mainspring run compare`: two runs side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import msgspec

from mainspring.cli.options import home_option, json_option

if TYPE_CHECKING:
    from rich.text import Text

    from mainspring.client import Client
    from mainspring.domain.comparing import Facts, Pair
    from mainspring.store.reading import RunLine


@click.command()
@click.argument("first", metavar="RUN")
@click.argument("second", metavar="RUN")
@json_option
@home_option
def compare(first: str, second: str, as_json: bool, home: Path | None) -> None:
    """Two runs side by side: versions, parameters, and each task.

    Of large runs only those tasks are shown that differ; `--json` has all.
    """
    from mainspring.cli.session import with_client

    with_client(home, _compare, first, second, as_json)


class _Side(NamedTuple):
    run: RunLine
    parameters: dict[str, Any]
    tasks: dict[str, Facts]


async def _compare(client: Client, first: str, second: str, as_json: bool) -> None:
    from mainspring.cli.output import print_json

    sides = await _side(client, first), await _side(client, second)
    if as_json:
        print_json(_document(*sides))
    else:
        _print(*sides)


async def _side(client: Client, reference: str) -> _Side:
    from mainspring.cli.given import given_run
    from mainspring.domain.comparing import Facts
    from mainspring.store import reading
    from mainspring.store.shapes import RESULT_BYTES_MAX, task_seconds

    run = await client.ask(reading.read_run, await given_run(client, reference))
    tasks = await client.ask(reading.list_tasks, run, result_bytes=RESULT_BYTES_MAX)
    return _Side(
        run,
        msgspec.json.decode(await client.ask(reading.read_run_parameters, run.id)),
        {
            task.name: Facts(
                task.state,
                task.attempt,
                task_seconds(task, run.read_at),
                task.result,
                task.result_bytes,
            )
            for task in tasks
        },
    )


def _document(first: _Side, second: _Side) -> dict[str, Any]:
    from mainspring.domain.comparing import compare_tasks, compare_values
    from mainspring.store import shapes

    return {
        "runs": [shapes.run_line(first.run), shapes.run_line(second.run)],
        "same_dag": first.run.dag == second.run.dag,
        "same_version": first.run.version_id == second.run.version_id,
        "same_code": first.run.snapshot == second.run.snapshot,
        "parameters": [
            {
                "name": value.name,
                "values": [_given(value.first), _given(value.second)],
                "given": [value.first is not msgspec.UNSET, value.second is not msgspec.UNSET],
            }
            for value in compare_values(first.parameters, second.parameters)
        ],
        "tasks": [
            {
                "name": pair.name,
                "changed": [] if None in (pair.first, pair.second) else pair.changed,
                "runs": [_facts(pair.first), _facts(pair.second)],
            }
            for pair in compare_tasks(first.tasks, second.tasks)
        ],
    }


def _given(value: Any) -> Any:
    return None if value is msgspec.UNSET else value


def _facts(facts: Facts | None) -> dict[str, Any] | None:
    if facts is None:
        return None
    whole = facts.result is not None and len(facts.result) == facts.result_bytes
    return {
        "state": facts.state,
        "attempt": facts.attempt,
        "duration_seconds": facts.seconds,
        "result": msgspec.Raw(facts.result) if whole and facts.result else None,
        "result_bytes": facts.result_bytes,
    }


def _print(first: _Side, second: _Side) -> None:
    from mainspring.cli.graphs import TREE_TASKS_MAX
    from mainspring.cli.output import console, faint, indented, table
    from mainspring.cli.words import counted, safe
    from mainspring.domain.comparing import compare_tasks

    out = console()
    out.print(indented(_heads(first, second)))
    pairs = compare_tasks(first.tasks, second.tasks)
    shown = pairs if len(pairs) <= TREE_TASKS_MAX else [pair for pair in pairs if pair.changed]
    names = (f"run {first.run.id}", f"run {second.run.id} ")
    lines = table("task", names[0], "took", "attempts", names[1], "took ", "attempts ", "changed")
    for pair in shown:
        lines.add_row(
            safe(pair.name),
            *_cells(pair.first),
            *_cells(pair.second),
            _changed(pair, first.run.id, second.run.id),
        )
    out.print()
    out.print(indented(lines))
    if len(shown) < len(pairs):
        out.print(faint(f"  {counted(len(pairs) - len(shown), 'other task')} do not differ"))


def _heads(first: _Side, second: _Side) -> Any:
    from mainspring.cli.output import state_text, table
    from mainspring.cli.words import clock, lasted, safe, value_words
    from mainspring.domain.comparing import compare_values
    from mainspring.domain.states import RUN

    runs = (first.run, second.run)
    lines = table("", f"run {first.run.id}", f"run {second.run.id} ")
    lines.add_row("dag", *(safe(run.dag) for run in runs))
    lines.add_row("state", *(state_text(RUN, run.state) for run in runs))
    lines.add_row("version", *(str(run.version) for run in runs))
    lines.add_row("code", *(run.snapshot[:12] for run in runs))
    lines.add_row("created", *(clock(run.created_at) for run in runs))
    lines.add_row("took", *(lasted(run.started_at, run.finished_at, run.read_at) for run in runs))
    for value in compare_values(first.parameters, second.parameters):
        lines.add_row(
            f"parameter {safe(value.name)}",
            *(
                "–" if given is msgspec.UNSET else value_words(given)
                for given in (value.first, value.second)
            ),
        )
    return lines


def _cells(facts: Facts | None) -> tuple[Text | str, str, str]:
    from mainspring.cli.output import state_text
    from mainspring.domain.durations import format_duration
    from mainspring.domain.states import TASK

    if facts is None:
        return "–", "", ""
    took = "" if facts.seconds is None else format_duration(facts.seconds)
    return state_text(TASK, facts.state), took, str(facts.attempt)


def _changed(pair: Pair, first_id: int, second_id: int) -> str:
    if pair.first is None:
        return f"only in run {second_id}"
    if pair.second is None:
        return f"only in run {first_id}"
    return ", ".join(pair.changed)
