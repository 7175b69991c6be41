"""`mainspring import crontab`: dags from the lines of a crontab.

It says of each line what it takes it for, and writes a file only if all of them, or all that you
want, could be taken.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mainspring.cli.errors import DONE, FAILED
from mainspring.cli.options import json_option
from mainspring.domain.errors import InputError
from mainspring.domain.names import shown

if TYPE_CHECKING:
    from mainspring.schedule.crontab import Crontab, CrontabEntry
    from mainspring.schedule.timetable import Fire

_BYTES_MAX = 10 * 1024 * 1024


@click.group()
def imports() -> None:
    """Make dags of the lines of a crontab."""


@imports.command("crontab")
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@click.option("--system", is_flag=True, help="With a user in each line, as in `/etc/crontab`.")
@click.option("--timezone", help="Of lines without a zone. [default: that of this machine]")
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the dags to this file, such as `dags/imported.py`.",
)
@click.option("--force", is_flag=True, help="Write over a file that is there.")
@click.option("--skip-refused", is_flag=True, help="Write the others if lines are refused.")
@click.option("--dry-run", is_flag=True, help="Write nothing.")
@json_option
def import_crontab(
    file: Path,
    system: bool,
    timezone: str | None,
    output: Path | None,
    force: bool,
    skip_refused: bool,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Make a dag of each line of the crontab FILE, or of `-`, what is piped in.

    `crontab -l | mainspring import crontab - --output dags/imported.py`
    """
    from mainspring.cli.crontab_dags import dag_names, written_file

    if output is not None:
        _check_output(output, force)
    zone = timezone or local_zone()
    crontab = _read(file, zone, system)
    names = dag_names(crontab.entries)
    held_back = bool(crontab.refused) and not skip_refused
    written = None
    if output is not None and not dry_run and not held_back and crontab.entries:
        source = "a crontab" if str(file) == "-" else f"the crontab {file.name}"
        _write(output, written_file(crontab, names, source))
        written = output
    if as_json:
        _print_document(crontab, names, zone, written)
    else:
        _print(crontab, names, zone, named=timezone is not None)
        _print_end(crontab, output, written, dry_run, held_back)
    return FAILED if held_back else DONE


def local_zone() -> str:
    """The IANA name of this machine's zone; `UTC` if it has none that can be found."""
    from mainspring.schedule.zones import zone_named

    for name in _zones_of_machine():
        try:
            found = zone_named(name).name
        except InputError:
            continue
        return "UTC" if found in ("Etc/UTC", "Etc/UCT", "Universal", "Zulu") else found
    return "UTC"


def _zones_of_machine() -> list[str]:
    named = os.environ.get("TZ", "").removeprefix(":")
    _, _, linked = os.path.realpath("/etc/localtime").partition("zoneinfo/")
    return [name for name in (named, linked) if name]


def _read(file: Path, zone: str, system: bool) -> Crontab:
    from mainspring.cli.crontab_dags import check_stdin
    from mainspring.schedule.crontab import RefusedLine, read_crontab

    crontab = read_crontab(_content(file), timezone=zone, system=system)
    entries, refused = [], list(crontab.refused)
    for entry in crontab.entries:
        try:
            check_stdin(entry)
            entries.append(entry)
        except InputError as error:
            refused.append(RefusedLine(entry.line, entry.text, error.message, error.hint))
    return crontab._replace(entries=entries, refused=sorted(refused))


def _content(file: Path) -> str:
    try:
        if str(file) == "-":
            content = sys.stdin.buffer.read(_BYTES_MAX + 1)
        else:
            with file.open("rb") as opened:
                content = opened.read(_BYTES_MAX + 1)
    except OSError as error:
        raise InputError(f"cannot read {shown(str(file))}: {error.strerror}") from None
    if len(content) > _BYTES_MAX:
        raise InputError(f"{shown(str(file))} is larger than {_BYTES_MAX:,} bytes")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{shown(str(file))}, line {line}: it is not UTF-8",
            hint="convert it first: `iconv -f latin1 -t utf-8`",
        ) from None


def _check_output(output: Path, force: bool) -> None:
    if output.suffix != ".py":
        raise InputError(
            f"`--output`: {shown(str(output))} does not end in `.py`",
            hint="dags are read from Python files",
        )
    if not output.parent.is_dir():
        raise InputError(f"`--output`: there is no folder {shown(str(output.parent))}")
    if output.exists() and not force:
        raise InputError(
            f"`--output`: {shown(str(output))} is there already",
            hint="choose another file, or write over it with `--force`",
        )


def _write(output: Path, text: str) -> None:
    """All or nothing: an engine may be reading the folder."""
    beside = output.with_name(f".{output.name}.{os.getpid()}")
    try:
        beside.write_text(text, encoding="utf-8")
        beside.replace(output)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise InputError(
            f"`--output`: cannot write {shown(str(output))}: {error.strerror}"
        ) from None


def _next_fire(entry: CrontabEntry, name: str) -> Fire | None:
    from mainspring.schedule.timetable import Timetable

    return Timetable(entry.spec, name).next_fire(datetime.now(UTC))


def _print_document(
    crontab: Crontab, names: Sequence[str], zone: str, written: Path | None
) -> None:
    from mainspring.cli.output import print_json

    print_json(
        {
            "timezone": zone,
            "entries": [
                _shape(entry, name) for entry, name in zip(crontab.entries, names, strict=True)
            ],
            "refused": [line._asdict() for line in crontab.refused],
            "written": None if written is None else str(written),
        }
    )


def _shape(entry: CrontabEntry, name: str) -> dict[str, Any]:
    from mainspring.schedule.explaining import explain

    fire = _next_fire(entry, name)
    return {
        "line": entry.line,
        "dag": name,
        "schedule": entry.when,
        "timezone": entry.spec.timezone,
        "words": explain(entry.spec, name),
        "next_fire_at": None if fire is None else fire.at,
        "user": entry.user,
        "command": entry.command,
        "stdin": entry.stdin,
        "variables": entry.variables,
        "comment": entry.comment,
        "notes": entry.notes,
    }


def _print(crontab: Crontab, names: Sequence[str], zone: str, *, named: bool) -> None:
    from mainspring.cli.output import console, faint, table
    from mainspring.cli.words import safe, shortened
    from mainspring.schedule.bounds import seconds_of
    from mainspring.schedule.explaining import explain
    from mainspring.schedule.zones import zone_named

    out = console()
    if crontab.entries:
        lines = table("line", "dag", "fires", "next", "command", right=["line"], fold=["fires"])
        for entry, name in zip(crontab.entries, names, strict=True):
            fire = _next_fire(entry, name)
            local = zone_named(entry.spec.timezone).local
            lines.add_row(
                str(entry.line),
                name,
                safe(explain(entry.spec, name)),
                "never" if fire is None else f"{local(seconds_of(fire.at)):%a %Y-%m-%d %H:%M}",
                faint(shortened(entry.command, 60)),
            )
        out.print(lines)
    for note, numbers in _notes(crontab.entries).items():
        out.print(faint(f"{numbers}: {safe(note)}"))
    if not named and any(entry.spec.timezone == zone for entry in crontab.entries):
        out.print(faint(f"Zone {safe(zone)} is that of this machine; `--timezone` says another."))


def _notes(entries: Sequence[CrontabEntry]) -> dict[str, str]:
    """What is other than under cron, each once, with its lines."""
    found: dict[str, list[int]] = {}
    for entry in entries:
        for note in entry.notes:
            found.setdefault(note, []).append(entry.line)
    return {
        note: f"line {lines[0]}" if len(lines) == 1 else f"lines {', '.join(map(str, lines))}"
        for note, lines in found.items()
    }


def _print_end(
    crontab: Crontab, output: Path | None, written: Path | None, dry_run: bool, held_back: bool
) -> None:
    from mainspring.cli.output import console, faint
    from mainspring.cli.words import counted, safe, shortened

    out = console()
    for line in crontab.refused:
        out.print(f"line {line.line} is refused: {safe(line.reason)}", style="yellow")
        out.print(faint(f"    {shortened(line.text, 200)}"))
        if line.hint:
            out.print(faint(f"    hint: {safe(line.hint)}"))
    if written is not None:
        out.print(f"Wrote {counted(len(crontab.entries), 'dag')} to {safe(str(written))}.")
        out.print(faint("Look through it; the folder of dags takes it up by itself."))
    elif not crontab.entries:
        out.print("There is nothing to take over.")
    elif held_back:
        out.print(
            "Nothing is written: mend these lines, or leave them out with `--skip-refused`."
            if output is not None and not dry_run
            else f"Nothing would be written: {counted(len(crontab.refused), 'line')} refused."
        )
    elif dry_run:
        out.print(f"Nothing is written: {counted(len(crontab.entries), 'dag')} would be.")
    else:
        out.print("Nothing is written: say where to with `--output dags/imported.py`.")
