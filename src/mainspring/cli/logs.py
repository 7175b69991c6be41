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
from mainspring.domain.log_marks import Ending, LogMark

if TYPE_CHECKING:
    from mainspring.cli.log_pieces import LogPieces
    from mainspring.http import HttpClient
    from mainspring.store.shapes import Log, RunWhole

_POLL_SECONDS = 0.25
_WAIT_SECONDS = 20.0
"""How long one request waits for a log to grow."""
_PREFIX_WIDTH_MAX = 24
_NAMES_MAX = 1_000
"""So many tasks of a run are looked at for how wide their names are."""
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
    from mainspring.cli.session import with_http

    if attempt is not None and term is not None:
        raise click.UsageError("give `--attempt` or `--term`, not both")
    if tail is not None and byte_range is not None:
        raise click.UsageError("give `--tail` or `--range`, not both")
    if follow and as_json:
        raise click.UsageError("`--json` prints one document, so it cannot follow")
    if follow and byte_range is not None:
        raise click.UsageError("`--range` has an end, so it cannot follow")
    part = _Part(tail, None if byte_range is None else _given_range(byte_range))
    with_http(home, _logs, _Asked(run, task, attempt, term, part), follow, as_json)


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
    run: RunWhole
    task: str | None
    """None for all tasks of the run."""
    terms: Sequence[int] | None

    @property
    def prefix_width(self) -> int:
        longest = max((len(task.name) for task in self.run.tasks), default=0)
        return min(longest, _PREFIX_WIDTH_MAX)

    async def logs(self, pieces: LogPieces, *, short: bool = False) -> AsyncIterator[Log]:
        """Of all tries that ran; with `short`, those that are short come along."""
        async for log in pieces.logs(self.task, short=short):
            ran = log.stored > 0 or log.state in _BEGUN
            if ran and (self.terms is None or log.term in self.terms):
                yield log


async def _logs(client: HttpClient, asked: _Asked, follow: bool, as_json: bool) -> None:
    from mainspring.cli.log_pieces import LogPieces
    from mainspring.cli.named import named_run

    run_id = await named_run(client, asked.run)
    pieces = LogPieces(client, run_id)
    run = await client.runs.show(run_id, tasks_max=_NAMES_MAX, result_bytes=0)
    wanted = await _wanted(pieces, run, asked)
    if as_json:
        await _print_json(pieces, wanted, asked.part)
        return
    printer = _Printer(pieces, wanted, await _labels(pieces, wanted))
    await printer.print(asked.part, short=True)
    if follow:
        await _follow(client, wanted, printer)
    printer.close()


async def _wanted(pieces: LogPieces, run: RunWhole, asked: _Asked) -> _Wanted:
    task = run.tasks[0].name if run.task_count == 1 and asked.task is None else asked.task
    chosen = (asked.attempt, asked.term, asked.part.range) != (None, None, None)
    if task is None:
        if chosen:
            raise InputError(
                "attempts and bytes are counted per task, so name the task",
                hint=f"mainspring run logs {run.id} TASK --attempt 1",
            )
        return _Wanted(run, None, None)
    terms = None
    if chosen:
        terms = _terms([log async for log in pieces.logs(task)], asked, task)
    return _Wanted(run, task, terms)


def _terms(tries: Sequence[Log], asked: _Asked, name: str) -> list[int]:
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


async def _labels(pieces: LogPieces, wanted: _Wanted) -> dict[tuple[int, int], str]:
    """What to call the tries of one task."""
    if wanted.task is None:
        return {}
    return {(log.task_id, log.term): _label(log) async for log in wanted.logs(pieces)}


def _label(log: Log) -> str:
    plain = log.state in ("running", "ready", "succeeded")
    return f"attempt {log.attempt}" + ("" if plain else f", {log.state.replace('_', ' ')}")


async def _bounds(pieces: LogPieces, log: Log, part: _Part) -> tuple[int, int]:
    if part.range is not None:
        start, end = part.range
        return start, log.stored if end is None else min(end, log.stored)
    if part.tail is not None:
        return await pieces.start_of_last_lines(log, part.tail), log.stored
    return 0, log.stored


class _Printer:
    """Writes logs as text, each byte once, and in the end their marks."""

    def __init__(
        self, pieces: LogPieces, wanted: _Wanted, labels: dict[tuple[int, int], str]
    ) -> None:
        self._pieces = pieces
        self._wanted = wanted
        self._writer = LogWriter(self._prefix_of if wanted.task is None else None, labels)
        self._names: dict[int, str] = {}
        self._seen: dict[tuple[int, int], int] = {}
        self._marks: dict[tuple[int, int], Log] = {}

    async def print(self, part: _Part, *, short: bool = False) -> None:
        """What is there and was not written yet; with `short`, most of it is asked for at once."""
        async for log in self._wanted.logs(self._pieces, short=short):
            key = (log.task_id, log.term)
            self._marks[key], self._names[log.task_id] = log, log.task
            seen = self._seen.get(key, 0)
            start, end = (seen, log.stored) if seen else await _bounds(self._pieces, log, part)
            async for at, piece in self._pieces.pieces(log, start, end):
                self._write(log, at, piece)
            self._seen[key] = max(end, self._seen.get(key, 0))
        self._writer.flush()

    async def wait(self) -> bool:
        """Until the only log that can grow has grown or ended; False if that cannot be told."""
        log = next(reversed(self._marks.values()), None)
        if self._wanted.task is None or log is None or log.log is not Ending.OPEN:
            return False
        seen = self._seen[log.task_id, log.term]
        for at, piece in await self._pieces.grown(log, seen, _WAIT_SECONDS):
            self._write(log, at, piece)
        self._writer.flush()
        return True

    def _write(self, log: Log, at: int, piece: bytes) -> None:
        from mainspring.store.logs import LogChunk

        self._seen[log.task_id, log.term] = at + len(piece)
        if piece:
            self._writer.write(LogChunk(log.task_id, log.term, at, piece))

    def _prefix_of(self, task_id: int) -> str:
        return f"{safe(self._names[task_id]):{self._wanted.prefix_width}}"

    def close(self) -> None:
        from mainspring.cli.output import error_console

        self._writer.close()
        out = error_console()
        lines = list(self._marks.values())
        told = [log for log in lines if log.log is Ending.LOST or len(lines) == 1]
        if not self._writer.written and not any(log.stored for log in lines):
            out.print("nothing was written", style="bright_black")
            told = [log for log in told if log.log is Ending.LOST]
        for log in told:
            words = f"{safe(log.task)}, {_label(log)}: {LogMark(log.log, log.bytes)}"
            style = "yellow" if log.log is Ending.LOST else "bright_black"
            out.print(words, style=style, markup=False)
        if len(lines) > 1:
            out.print(_summary(lines), style="bright_black")


def _summary(lines: Sequence[Log]) -> str:
    from mainspring.cli.words import counted

    parts = []
    for ending, words in (
        (Ending.COMPLETE, "complete"),
        (Ending.LOST, "lost in part"),
        (Ending.OPEN, "not at its end"),
    ):
        if count := sum(log.log is ending for log in lines):
            parts.append(f"{counted(count, 'log')} {words}")
    return ", ".join(parts) + f"; {sum(log.bytes for log in lines):,} bytes"


async def _follow(client: HttpClient, wanted: _Wanted, printer: _Printer) -> None:
    """What comes, until all that is wanted has ended.

    A worker reports an end when the log is written. So what is there after an end was seen is all.
    """
    while True:
        began = time.monotonic()
        over = await _is_over(client, wanted)
        await printer.print(_Part())
        if over:
            return
        if not await printer.wait():
            # A run of many thousand tasks is not asked as often as a small one.
            await asyncio.sleep(max(_POLL_SECONDS, 4 * (time.monotonic() - began)))


async def _is_over(client: HttpClient, wanted: _Wanted) -> bool:
    from mainspring.domain.states import RUN

    if wanted.task is None:
        run = await client.runs.show(wanted.run.id, tasks_max=0)
        return RUN.facts[run.state].closed
    task = await client.runs.show_task(wanted.run.id, wanted.task)
    past = wanted.terms is not None and task.term > max(wanted.terms)
    return task.finished_at is not None or past


async def _print_json(pieces: LogPieces, wanted: _Wanted, part: _Part) -> None:
    """An array with an object for each try, written as it is read."""
    import msgspec

    comma = ""
    sys.stdout.write("[")
    async for log in wanted.logs(pieces, short=True):
        start, end = await _bounds(pieces, log, part)
        facts = {
            "task": log.task,
            "attempt": log.attempt,
            "term": log.term,
            "state": log.state,
            "log": log.log,
            "bytes": log.bytes,
            "start": start,
        }
        head = msgspec.json.encode(facts).decode().removesuffix("}")
        sys.stdout.write(f'{comma}\n  {head},"text":"')
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        async for _, piece in pieces.pieces(log, start, end):
            sys.stdout.write(_escaped(decoder.decode(piece)))
        sys.stdout.write(_escaped(decoder.decode(b"", True)) + '"}')
        comma = ","
    sys.stdout.write("\n]\n" if comma else "]\n")


def _escaped(text: str) -> str:
    """As the inside of a JSON string."""
    import msgspec

    return msgspec.json.encode(text).decode()[1:-1]
