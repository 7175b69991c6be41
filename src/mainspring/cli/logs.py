"""`mainspring run logs`: what tasks wrote, in chunks, so that any amount needs little memory.

What comes out is text: bytes that are no UTF-8 become `�`, NUL becomes `␀`, and on a terminal
every other control character is shown instead of obeyed.
"""

from __future__ import annotations

import asyncio
import codecs
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from mainspring.cli.options import home_option, json_option
from mainspring.cli.words import safe, safe_lines
from mainspring.domain.errors import InputError

if TYPE_CHECKING:
    from mainspring.client import Client
    from mainspring.domain.specs import DagSpec
    from mainspring.store.reading import AttemptLine, LogChunk, RunLine, TaskLine

_POLL_SECONDS = 0.25
_LATE_SECONDS = 1.0
"""How long after the end a last chunk may still arrive."""
_PREFIX_WIDTH_MAX = 24
_LINE_CHARACTERS_MAX = 64 * 1024
"""A longer line of one of several tasks is broken, so that the others are not held up."""


@click.command()
@click.argument("run")
@click.argument("task", required=False)
@click.option("--attempt", type=click.IntRange(1), help="Only this attempt of the task.")
@click.option("--term", type=click.IntRange(1), help="Only this term; every try has its own.")
@click.option("-f", "--follow", is_flag=True, help="Go on until the run, or the task, has ended.")
@json_option
@home_option
def logs(
    run: str,
    task: str | None,
    attempt: int | None,
    term: int | None,
    follow: bool,
    as_json: bool,
    home: Path | None,
) -> None:
    """Print what a run's tasks wrote."""
    from mainspring.cli.session import with_client

    if attempt is not None and term is not None:
        raise click.UsageError("give `--attempt` or `--term`, not both")
    if follow and as_json:
        raise click.UsageError("`--json` prints one document, so it cannot follow")
    with_client(home, _logs, run, task, attempt, term, follow, as_json)


class _Wanted(NamedTuple):
    run: RunLine
    spec: DagSpec
    node: int | None
    """None for all tasks of the run."""
    terms: Sequence[int] | None
    labels: Mapping[tuple[int, int], str]
    """What to call the attempts of the task, by (task, term)."""

    @property
    def first_id(self) -> int:
        return self.run.id + (self.node or 0)

    @property
    def below_id(self) -> int:
        return self.run.id + (self.run.tasks if self.node is None else self.node + 1)

    def name_of(self, task_id: int) -> str:
        return self.spec.tasks[task_id - self.run.id].name

    def prefix_of(self, task_id: int) -> str:
        width = min(max(len(task.name) for task in self.spec.tasks), _PREFIX_WIDTH_MAX)
        return f"{safe(self.name_of(task_id)):{width}}"


async def _logs(
    client: Client,
    reference: str,
    task: str | None,
    attempt: int | None,
    term: int | None,
    follow: bool,
    as_json: bool,
) -> None:
    wanted = await _wanted(client, reference, task, attempt, term)
    if as_json:
        await _print_json(client, wanted)
        return
    writer = LogWriter(wanted.prefix_of if wanted.node is None else None, wanted.labels)
    places = await _print(client, wanted, writer)
    if follow:
        await _follow(client, wanted, writer, places)
    writer.close()
    if not writer.written:
        from mainspring.cli.output import error_console

        error_console().print("nothing was written", style="bright_black")


async def _wanted(
    client: Client, reference: str, task: str | None, attempt: int | None, term: int | None
) -> _Wanted:
    from mainspring.cli.given import given_run, given_task
    from mainspring.store import reading

    run = await client.ask(reading.read_run, await given_run(client, reference))
    spec = await client.ask(reading.read_spec, run)
    node = given_task(spec, run.id, task) if task is not None else None
    if run.tasks == 1:
        node = 0
    if node is None:
        if attempt is not None or term is not None:
            raise InputError(
                "attempts are counted per task, so name the task",
                hint=f"mainspring run logs {run.id} TASK --attempt 1",
            )
        return _Wanted(run, spec, None, None, {})
    line = (await client.ask(reading.list_tasks, run))[node]
    ended = [
        each
        for each in await client.ask(reading.list_attempts, run, limit=100_000)
        if each.task_id == line.id
    ]
    terms = [term] if term is not None else None
    if attempt is not None:
        terms = _terms_of(line, ended, attempt)
    return _Wanted(run, spec, node, terms, _labels(line, ended))


def _terms_of(task: TaskLine, ended: Sequence[AttemptLine], attempt: int) -> list[int]:
    """One attempt may have had several tries: those that were lost or handed back."""
    terms = {each.term for each in ended if each.attempt == attempt}
    if task.attempt == attempt:
        terms.add(task.term)
    if not terms:
        raise InputError(f"task `{task.name}` has had no attempt {attempt}")
    return sorted(terms)


def _labels(task: TaskLine, ended: Sequence[AttemptLine]) -> dict[tuple[int, int], str]:
    labels = {(task.id, task.term): f"attempt {task.attempt}"}
    for each in ended:
        labels[task.id, each.term] = f"attempt {each.attempt}, {each.state.replace('_', ' ')}"
    return labels


async def _print(client: Client, wanted: _Wanted, writer: LogWriter) -> dict[int, tuple[int, int]]:
    """Everything that is there; says how far each task was read."""
    from mainspring.store.reading import page_log

    places: dict[int, tuple[int, int]] = {}
    after = (wanted.first_id, 0, -1)
    while chunks := await client.ask(page_log, after, wanted.below_id, terms=wanted.terms):
        for chunk in chunks:
            writer.write(chunk)
            places[chunk.task_id] = (chunk.term, chunk.number)
        last = chunks[-1]
        after = (last.task_id, last.term, last.number)
    return places


async def _follow(
    client: Client, wanted: _Wanted, writer: LogWriter, places: dict[int, tuple[int, int]]
) -> None:
    """What comes, until all that is wanted has ended and nothing more arrives."""
    from mainspring.domain.states import TaskState
    from mainspring.store.reading import follow_logs, list_tasks

    quiet_seconds = 0.0
    while quiet_seconds <= _LATE_SECONDS:
        writer.flush()
        tasks = [
            task
            for task in await client.ask(list_tasks, wanted.run)
            if wanted.node in (None, task.node)
        ]
        begun = [task.id for task in tasks if task.state is not TaskState.WAITING]
        after = [(task_id, *places.get(task_id, (0, -1))) for task_id in begun]
        chunks = await client.ask(follow_logs, after, terms=wanted.terms)
        for chunk in chunks:
            writer.write(chunk)
            places[chunk.task_id] = (chunk.term, chunk.number)
        ended = all(task.finished_at is not None for task in tasks)
        if chunks:
            quiet_seconds = 0.0
            continue
        await asyncio.sleep(_POLL_SECONDS)
        quiet_seconds = quiet_seconds + _POLL_SECONDS if ended else 0.0


async def _print_json(client: Client, wanted: _Wanted) -> None:
    """An array of chunks, written as it is read."""
    import msgspec

    from mainspring.store.reading import page_log

    after, comma = (wanted.first_id, 0, -1), ""
    sys.stdout.write("[")
    while chunks := await client.ask(page_log, after, wanted.below_id, terms=wanted.terms):
        for chunk in chunks:
            item = {
                "task": wanted.name_of(chunk.task_id),
                "term": chunk.term,
                "number": chunk.number,
                "text": chunk.content.decode("utf-8", "replace"),
            }
            sys.stdout.write(comma + "\n  " + msgspec.json.encode(item).decode())
            comma = ","
        last = chunks[-1]
        after = (last.task_id, last.term, last.number)
    sys.stdout.write("\n]\n" if comma else "]\n")


class LogWriter:
    """Chunks in, safe text out.

    With `prefix_of`, lines are prefixed by what it says of their task and written whole, so that
    the lines of several tasks do not mix. Without, everything is written as it comes.
    """

    def __init__(
        self,
        prefix_of: Callable[[int], str] | None,
        labels: Mapping[tuple[int, int], str],
        *,
        terminal: bool | None = None,
    ) -> None:
        self._prefix_of = prefix_of
        self._labels = labels
        self._terminal = sys.stdout.isatty() if terminal is None else terminal
        self._decoders: dict[tuple[int, int], codecs.IncrementalDecoder] = {}
        self._rests: dict[int, str] = {}
        self._prefixes: dict[int, str] = {}
        self._last: tuple[int, int] | None = None
        self._at_line_start = True
        self.written = False

    def write(self, chunk: LogChunk) -> None:
        self.written = True
        key = (chunk.task_id, chunk.term)
        if key != self._last:
            self._turn_to(key)
        decoder = self._decoders.get(key)
        if decoder is None:
            decoder = self._decoders[key] = codecs.getincrementaldecoder("utf-8")("replace")
        self._put(chunk.task_id, decoder.decode(chunk.content))

    def flush(self) -> None:
        sys.stdout.flush()

    def end_line(self, task_id: int) -> None:
        """A prefixed line that was begun and will not go on."""
        if rest := self._rests.pop(task_id, ""):
            self._put_line(task_id, rest)
        self.flush()

    def close(self) -> None:
        """What was begun and not ended: half characters, lines without an end."""
        for (task_id, _), decoder in self._decoders.items():
            if rest := decoder.decode(b"", True):
                self._put(task_id, rest)
        for task_id in list(self._rests):
            self.end_line(task_id)
        if not self._at_line_start and self._terminal:
            sys.stdout.write("\n")
        sys.stdout.flush()

    def _turn_to(self, key: tuple[int, int]) -> None:
        if self._last and self._last[0] == key[0] and self._rests.get(key[0]):
            # A new attempt begins on a line of its own.
            self.end_line(key[0])
        self._last = key
        if self._prefix_of is None and self._terminal and len(self._labels) > 1:
            line = "" if self._at_line_start else "\n"
            label = self._labels.get(key, f"term {key[1]}")
            sys.stdout.write(f"{line}── {label} ──\n")
            self._at_line_start = True

    def _put(self, task_id: int, text: str) -> None:
        if self._prefix_of is None:
            if text:
                sys.stdout.write(self._visible(text))
                self._at_line_start = text.endswith("\n")
            return
        lines = (self._rests.pop(task_id, "") + text).split("\n")
        for line in lines[:-1]:
            self._put_line(task_id, line)
        if len(lines[-1]) > _LINE_CHARACTERS_MAX:
            self._put_line(task_id, lines[-1])
        else:
            self._rests[task_id] = lines[-1]

    def _put_line(self, task_id: int, line: str) -> None:
        sys.stdout.write(f"{self._prefix(task_id)} │ {self._visible(line)}\n")

    def _prefix(self, task_id: int) -> str:
        if task_id not in self._prefixes:
            assert self._prefix_of is not None
            self._prefixes[task_id] = self._prefix_of(task_id)
        return self._prefixes[task_id]

    def _visible(self, text: str) -> str:
        if self._terminal:
            return safe_lines(text.replace("\r\n", "\n"))
        return text.replace("\x00", "␀")
