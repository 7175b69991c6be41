"""`mainspring run logs`: what tasks wrote, piece by piece, so that any amount needs little memory.

What was written goes to standard output. Whether that is all of it, the log's mark, goes to
standard error, or into the JSON.
"""

from __future__ import annotations

import asyncio
import codecs
import re
import sys
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from mainspring.cli.log_writer import LogWriter
from mainspring.cli.options import home_option, json_option
from mainspring.cli.words import safe
from mainspring.domain.errors import InputError
from mainspring.domain.log_marks import Ending

if TYPE_CHECKING:
    from mainspring.client import Client
    from mainspring.domain.specs import DagSpec
    from mainspring.logs.read import LogReader
    from mainspring.store.logs import LogChunk, LogLine
    from mainspring.store.reading import RunLine, TaskLine

_POLL_SECONDS = 0.25
_PREFIX_WIDTH_MAX = 24
_BEGUN = ("running", "succeeded", "failed", "timed_out", "lost")
"""States of tries that surely ran, though they may have written nothing."""


@click.command()
@click.argument("run")
@click.argument("task", required=False)
@click.option("--attempt", type=click.IntRange(1), help="Only this attempt of the task.")
@click.option("--term", type=click.IntRange(1), help="Only this term; every try has its own.")
@click.option("--tail", type=click.IntRange(0), metavar="N", help="Only the last N lines of each.")
@click.option(
    "--range",
    "byte_range",
    metavar="A-B",
    help="Only bytes A to B, counted from 0, of the task's last try; `A-` up to the end.",
)
@click.option("-f", "--follow", is_flag=True, help="Go on until the run, or the task, has ended.")
@json_option
@home_option
def logs(
    run: str,
    task: str | None,
    attempt: int | None,
    term: int | None,
    tail: int | None,
    byte_range: str | None,
    follow: bool,
    as_json: bool,
    home: Path | None,
) -> None:
    """Print what a run's tasks wrote.

    Each log ends with a mark, on standard error: `complete`, or `lost after byte n` if its worker
    died.
    """
    from mainspring.cli.session import with_client
    from mainspring.config import load_config

    if attempt is not None and term is not None:
        raise click.UsageError("give `--attempt` or `--term`, not both")
    if tail is not None and byte_range is not None:
        raise click.UsageError("give `--tail` or `--range`, not both")
    if follow and as_json:
        raise click.UsageError("`--json` prints one document, so it cannot follow")
    if follow and byte_range is not None:
        raise click.UsageError("`--range` has an end, so it cannot follow")
    part = _Part(tail, None if byte_range is None else _given_range(byte_range))
    asked = _Asked(run, task, attempt, term, part)
    with_client(home, _logs, asked, follow, as_json, load_config(home=home).home)


class _Part(NamedTuple):
    tail: int | None = None
    range: tuple[int, int | None] | None = None
    """From a byte on, up to one that is not part of it."""


class _Asked(NamedTuple):
    run: str
    task: str | None
    attempt: int | None
    term: int | None
    part: _Part


class _Wanted(NamedTuple):
    run: RunLine
    spec: DagSpec
    node: int | None
    """None for all tasks of the run."""
    terms: Sequence[int] | None

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

    async def logs(self, reader: LogReader) -> AsyncIterator[LogLine]:
        """Of all tries that ran."""
        async for log in reader.logs(self.first_id, self.below_id):
            ran = log.stored > 0 or log.state in _BEGUN
            if ran and (self.terms is None or log.term in self.terms):
                yield log


async def _logs(client: Client, asked: _Asked, follow: bool, as_json: bool, home: Path) -> None:
    from mainspring.logs.places import Places
    from mainspring.logs.read import LogReader

    reader = LogReader(client.ask, Places(home))
    wanted = await _wanted(client, reader, asked)
    if as_json:
        await _print_json(reader, wanted, asked.part)
        return
    printer = _Printer(reader, wanted, await _labels(reader, wanted))
    await printer.print(asked.part)
    if follow:
        await _follow(client, wanted, printer)
        await printer.print(_Part())
    printer.close()


async def _wanted(client: Client, reader: LogReader, asked: _Asked) -> _Wanted:
    from mainspring.cli.given import given_run, given_task
    from mainspring.store import reading

    run = await client.ask(reading.read_run, await given_run(client, asked.run))
    spec = await client.ask(reading.read_spec, run)
    node = given_task(spec, run.id, asked.task) if asked.task is not None else None
    if run.tasks == 1:
        node = 0
    chosen = (asked.attempt, asked.term, asked.part.range) != (None, None, None)
    if node is None:
        if chosen:
            raise InputError(
                "attempts and bytes are counted per task, so name the task",
                hint=f"mainspring run logs {run.id} TASK --attempt 1",
            )
        return _Wanted(run, spec, None, None)
    wanted = _Wanted(run, spec, node, None)
    if chosen:
        tries = [log async for log in reader.logs(wanted.first_id, wanted.below_id)]
        wanted = wanted._replace(terms=_terms(tries, asked, spec.tasks[node].name))
    return wanted


def _terms(tries: Sequence[LogLine], asked: _Asked, name: str) -> list[int]:
    """One attempt may have had several tries: those that were lost or handed back."""
    known = ", ".join(f"{log.attempt} (term {log.term})" for log in tries)
    hint = f"its attempts: {known}" if known else "it has not begun"
    terms = [log.term for log in tries]
    if asked.attempt is not None:
        terms = [log.term for log in tries if log.attempt == asked.attempt]
        if not terms:
            raise InputError(f"task `{name}` has had no attempt {asked.attempt}", hint=hint)
    if asked.term is not None:
        terms = [term for term in terms if term == asked.term]
        if not terms:
            raise InputError(f"task `{name}` has had no term {asked.term}", hint=hint)
    if asked.part.range is None:
        return terms
    log = next(log for log in reversed(tries) if log.term in terms)
    if asked.part.range[0] >= max(log.stored, 1):
        raise InputError(
            f"the log of task `{name}` ends before byte {asked.part.range[0]:,}",
            hint=f"attempt {log.attempt} has {log.stored:,} bytes, counted from 0",
        )
    return [log.term]


def _given_range(text: str) -> tuple[int, int | None]:
    match = re.fullmatch(r"(\d{1,18})-(\d{1,18})?", text, re.ASCII)
    if match is None or (match[2] and int(match[2]) < int(match[1])):
        raise InputError(
            f"`--range`: `{safe(text)}` is no range of bytes",
            hint="such as `0-999` for the first thousand, or `1000-` for the rest",
        )
    return int(match[1]), int(match[2]) + 1 if match[2] else None


async def _labels(reader: LogReader, wanted: _Wanted) -> dict[tuple[int, int], str]:
    """What to call the tries of one task."""
    if wanted.node is None:
        return {}
    return {(log.task_id, log.term): _label(log) async for log in wanted.logs(reader)}


def _label(log: LogLine) -> str:
    plain = log.state in ("running", "ready", "succeeded")
    return f"attempt {log.attempt}" + ("" if plain else f", {log.state.replace('_', ' ')}")


async def _bounds(reader: LogReader, log: LogLine, part: _Part) -> tuple[int, int]:
    if part.range is not None:
        start, end = part.range
        return start, log.stored if end is None else min(end, log.stored)
    if part.tail is not None:
        return await reader.start_of_last_lines(log, part.tail), log.stored
    return 0, log.stored


class _Printer:
    """Writes logs as text, each byte once, and in the end their marks."""

    def __init__(
        self, reader: LogReader, wanted: _Wanted, labels: dict[tuple[int, int], str]
    ) -> None:
        self._reader = reader
        self._wanted = wanted
        self._writer = LogWriter(wanted.prefix_of if wanted.node is None else None, labels)
        self._seen: dict[tuple[int, int], int] = {}
        self._last_term: dict[int, int] = {}
        self._marks: dict[tuple[int, int], LogLine] = {}

    async def print(self, part: _Part) -> None:
        """What is there and was not written yet."""
        from mainspring.store.logs import LogChunk

        async for log in self._wanted.logs(self._reader):
            key = (log.task_id, log.term)
            self._marks[key] = log
            start, end = await _bounds(self._reader, log, part)
            start = max(start, self._seen.get(key, 0))
            async for at, piece in self._reader.pieces(log, start, end):
                self.write(LogChunk(*key, at, piece))
            self._seen[key] = max(end, self._seen.get(key, 0))
            self._last_term[log.task_id] = log.term

    def write(self, chunk: LogChunk) -> None:
        key = (chunk.task_id, chunk.term)
        self._seen[key] = chunk.start + len(chunk.content)
        self._last_term[chunk.task_id] = chunk.term
        if chunk.content:
            self._writer.write(chunk)

    def flush(self) -> None:
        self._writer.flush()

    def place(self, task: TaskLine) -> tuple[int, int, int]:
        """From where on a task's chunks are new: the try that was seen last, and its bytes."""
        term = self._last_term.get(task.id, 0)
        return task.id, term, self._seen.get((task.id, term), 0)

    def close(self) -> None:
        from mainspring.cli.output import error_console

        self._writer.close()
        out = error_console()
        lines = list(self._marks.values())
        told = [log for log in lines if log.mark.ending is Ending.LOST or len(lines) == 1]
        if not self._writer.written and not any(log.stored for log in lines):
            out.print("nothing was written", style="bright_black")
            told = [log for log in told if log.mark.ending is Ending.LOST]
        for log in told:
            lost = log.mark.ending is Ending.LOST
            name = safe(self._wanted.name_of(log.task_id))
            words = f"{name}, {_label(log)}: {log.mark}"
            out.print(words, style="yellow" if lost else "bright_black", markup=False)
        if len(lines) > 1:
            out.print(_summary(lines), style="bright_black")


def _summary(lines: Sequence[LogLine]) -> str:
    from mainspring.cli.words import counted

    parts = []
    for ending, words in (
        (Ending.COMPLETE, "complete"),
        (Ending.LOST, "lost in part"),
        (Ending.OPEN, "not at its end"),
    ):
        if count := sum(log.mark.ending is ending for log in lines):
            parts.append(f"{counted(count, 'log')} {words}")
    return ", ".join(parts) + f"; {sum(log.mark.bytes for log in lines):,} bytes"


async def _follow(client: Client, wanted: _Wanted, printer: _Printer) -> None:
    """What comes, until all that is wanted has ended.

    A worker reports an end when the log is written. So what is there after an end was seen is all.
    """
    from mainspring.domain.states import TaskState
    from mainspring.store.logs import follow_logs
    from mainspring.store.reading import list_tasks

    ended: set[int] = set()
    while True:
        printer.flush()
        began = time.monotonic()
        tasks = [
            task
            for task in await client.ask(list_tasks, wanted.run)
            if wanted.node in (None, task.node) and task.id not in ended
        ]
        places = [printer.place(task) for task in tasks if task.state is not TaskState.WAITING]
        chunks = await client.ask(follow_logs, places, terms=wanted.terms)
        for chunk in chunks:
            printer.write(chunk)
        if chunks:
            continue
        ended |= {task.id for task in tasks if _is_over(task, wanted)}
        if len(ended) == wanted.below_id - wanted.first_id:
            return
        # A run of many thousand tasks is not asked as often as a small one.
        await asyncio.sleep(max(_POLL_SECONDS, 4 * (time.monotonic() - began)))


def _is_over(task: TaskLine, wanted: _Wanted) -> bool:
    past = wanted.terms is not None and task.term > max(wanted.terms)
    return task.finished_at is not None or past


async def _print_json(reader: LogReader, wanted: _Wanted, part: _Part) -> None:
    """An array with an object for each try, written as it is read."""
    import msgspec

    comma = ""
    sys.stdout.write("[")
    async for log in wanted.logs(reader):
        start, end = await _bounds(reader, log, part)
        facts = {
            "task": wanted.name_of(log.task_id),
            "attempt": log.attempt,
            "term": log.term,
            "state": log.state,
            "log": log.mark.ending,
            "bytes": log.mark.bytes,
            "start": start,
        }
        head = msgspec.json.encode(facts).decode().removesuffix("}")
        sys.stdout.write(f'{comma}\n  {head},"text":"')
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        async for _, piece in reader.pieces(log, start, end):
            sys.stdout.write(_escaped(decoder.decode(piece)))
        sys.stdout.write(_escaped(decoder.decode(b"", True)) + '"}')
        comma = ","
    sys.stdout.write("\n]\n" if comma else "]\n")


def _escaped(text: str) -> str:
    """As the inside of a JSON string."""
    import msgspec

    return msgspec.json.encode(text).decode()[1:-1]
