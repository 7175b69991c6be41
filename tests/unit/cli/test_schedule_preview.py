"""`mainspring schedule preview`: what it prints, and that it asks no database."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from mainspring.cli import run_command

Printed = pytest.CaptureFixture[str]


def previewed(capsys: Printed, *arguments: str) -> list[dict[str, Any]]:
    assert run_command(["schedule", "preview", *arguments, "--json"]) == 0
    fires: list[dict[str, Any]] = msgspec.json.decode(capsys.readouterr().out)
    return fires


NEW_YORK = ("--timezone", "America/New_York")


def test_a_gap_moves_a_fire_and_is_told(capsys: Printed) -> None:
    fires = previewed(
        *(capsys, "--cron", "30 2 * * *", *NEW_YORK),
        *("--from", "2026-03-07T00:00:00Z", "--count", "3"),
    )
    assert fires == [
        {"fire_at": "2026-03-07T07:30:00Z", "local": "2026-03-07T02:30:00-05:00", "note": None},
        {
            "fire_at": "2026-03-08T07:00:00Z",
            "local": "2026-03-08T03:00:00-04:00",
            "note": "moved out of a gap: the clock leaves out 2026-03-08 02:30",
        },
        {"fire_at": "2026-03-09T06:30:00Z", "local": "2026-03-09T02:30:00-04:00", "note": None},
    ]


def test_a_skipped_fire_is_told_by_the_next(capsys: Printed) -> None:
    fires = previewed(
        *(capsys, "--cron", "30 2 * * *", *NEW_YORK, "--dst-gap", "skip"),
        *("--from", "2026-03-07T00:00:00Z", "--count", "2"),
    )
    assert [fire["note"] for fire in fires] == [
        None,
        "2026-03-08 02:30 was skipped: the clock leaves it out",
    ]


def test_both_passes_of_a_fold_are_told_apart(capsys: Printed) -> None:
    fires = previewed(
        *(capsys, "--cron", "30 1 * * *", *NEW_YORK, "--dst-fold", "both"),
        *("--from", "2026-11-01T00:00:00Z", "--count", "2"),
    )
    assert [(fire["fire_at"], fire["note"]) for fire in fires] == [
        ("2026-11-01T05:30:00Z", "the clock shows this time twice; this is the first"),
        ("2026-11-01T06:30:00Z", "the clock shows this time twice; this is the second"),
    ]


def test_nothing_is_said_to_be_skipped_for_lines_that_follow_elapsed_time(capsys: Printed) -> None:
    fires = previewed(
        *(capsys, "--cron", "0 * * * *", *NEW_YORK, "--dst-gap", "skip"),
        *("--from", "2026-03-08T05:30:00Z", "--count", "3"),
    )
    assert [fire["note"] for fire in fires] == [None, None, None]


def test_excluded_days_are_shown_and_marked(capsys: Printed) -> None:
    fires = previewed(
        *(capsys, "--cron", "0 9 * * *", "--from", "2026-12-24T12:00:00Z", "--count", "4"),
        *("--exclude-country", "DE-BY", "--exclude-weekday", "sun", "--exclude-date", "2026-12-28"),
    )
    assert [fire["note"] for fire in fires] == [
        "excluded by `DE-BY`",
        "excluded by `DE-BY`",
        "excluded by `weekdays`",
        "excluded by `dates`",
    ]


def test_all_kinds_of_times_are_one_schedule(capsys: Printed) -> None:
    fires = previewed(
        *(capsys, "--every", "12h", "--phase", "1h", "--at", "2026-01-01T02:00Z"),
        *("--rrule", "FREQ=DAILY;BYHOUR=3", "--cron", "0 4 * * *"),
        *("--from", "2026-01-01T00:00Z", "--until", "2026-01-01T12:00Z"),
    )
    assert [fire["fire_at"][11:16] for fire in fires] == ["01:00", "02:00", "03:00", "04:00"]


def test_people_get_the_schedule_in_words_above_a_table(capsys: Printed) -> None:
    arguments = [
        "--cron",
        "0 2 * * *",
        "--timezone",
        "Europe/Berlin",
        "--from",
        "2026-07-01T12:00Z",
    ]
    assert run_command(["schedule", "preview", *arguments, "--end", "2026-07-03T12:00Z"]) == 0
    heading, titles, *lines, end = capsys.readouterr().out.splitlines()
    assert heading == "Every day at 02:00 (Europe/Berlin), until 2026-07-03 14:00"
    assert titles.split() == ["local", "zone", "UTC", "note"]
    assert [line.split() for line in lines] == [
        ["Thu", "2026-07-02", "02:00:00", "CEST", "2026-07-02", "00:00:00"],
        ["Fri", "2026-07-03", "02:00:00", "CEST", "2026-07-03", "00:00:00"],
    ]
    assert end == "No more after that."


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "there is nothing to preview"),
        (["--cron", "0 0 30 2 *"], "never fires: Feb has 29 days"),
        (["--cron", "@daily", "--timezone", "Mars/Base"], "is not a time zone"),
        (["--cron", "@daily", "--timezone", ""], "is not a time zone"),
        (["--every", "0.2s"], "is shorter than 1 s"),
        (["--every", "-5m"], "is negative"),
        (["--cron", "@daily", "--from", "soon"], "`--from`: `soon` is no instant"),
        (["--cron", "@daily", "--exclude-date", "soon"], "is no date"),
        (["--cron", "@daily", "--exclude-country", "XX"], "is no country"),
        (["--at", "9999-01-01T00:00Z"], "is not in the years 1970 to 2099"),
        (
            ["--cron", "@daily", "--start", "2026-01-02T00:00Z", "--end", "2026-01-01T00:00Z"],
            "is before the start",
        ),
        (["--cron", "@daily", "--count", "0"], "count"),
    ],
)
def test_what_cannot_be_is_a_usage_error(arguments: list[str], words: str, capsys: Printed) -> None:
    assert run_command(["schedule", "preview", *arguments]) == 2
    assert words in capsys.readouterr().err
