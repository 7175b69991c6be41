"""`mainspring schedule`: made, changed, compared, paused, removed and shown, on a real database."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest

from mainspring.domain.specs import DagSpec, ParameterSpec
from mainspring.schedule.calendars import CalendarSpec
from mainspring.schedule.specs import IntervalSpec, Overlap, ScheduleSpec
from mainspring.store.connection import Connection
from mainspring.store.dags import register_dag
from mainspring.store.reading import read_clock
from mainspring.store.schedule_changes import Intent, put_calendar, put_schedule
from mainspring.store.schedules import due_schedules, standing_schedules
from mainspring.store.settling import Settler
from tests.integration.cli.conftest import Command
from tests.support.factory import dag_of

BOTH_ROADS = True

BERLIN = ("--cron", "0 2 * * *", "--timezone", "Europe/Berlin")
BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)
ORDERS = DagSpec(
    name="orders",
    tasks=dag_of([], name="orders").tasks,
    edges=(),
    parameters=(
        ParameterSpec("region", {"type": "string"}, required=False, default="eu"),
        ParameterSpec("days", {"type": "integer"}, required=False, default=1),
    ),
)


@pytest.fixture(autouse=True)
async def _orders(connection: Connection) -> None:
    await register_dag(connection, ORDERS, "0" * 64)


async def ledger(connection: Connection) -> int:
    """How many rows there are of schedules, whatever they tell."""
    return int(
        await connection.fetchval(
            "select (select count(*) from mainspring.schedule)"
            " + (select count(*) from mainspring.schedule_version)"
            " + (select coalesce(sum(turn), 0) from mainspring.schedule_state)"
        )
    )


async def tick(connection: Connection, now: datetime) -> None:
    settler = Settler()
    while due := await due_schedules(connection, now, list(range(17)), BEGINNING, 100):
        await settler.settle(connection, due, now)


# --- making and reading ---------------------------------------------------------------------


async def test_a_schedule_is_made_and_told_in_words(command: Command) -> None:
    answer = await command(
        *("schedule", "create", "nightly", "--dag", "orders", *BERLIN, "-p", "region=us"),
        *("--overlap", "skip", "--jitter", "5m", "--note", "for the books"),
    )
    assert answer.code == 0, answer.err
    assert answer.out.startswith(
        "schedule nightly of orders is made, version 1: every day at 02:00 (Europe/Berlin), up to"
        " 5 min later\nnext fire: "
    )
    [line] = (await command("schedule", "list", "--json")).json
    assert line["name"] == "nightly"
    assert line["dag"] == "orders"
    assert line["state"] == "active"
    assert line["parameters"] == {"region": "us"}
    assert line["spec"]["overlap"] == "skip"
    assert line["spec"]["jitter_seconds"] == 300
    assert line["note"] == "for the books"
    assert line["next_fire_at"].endswith(("01:00:00Z", "00:00:00Z"))
    listed = (await command("schedule", "list")).out
    assert "every day at 02:00 (Europe/Berlin)" in listed
    assert " 02:00:00 CE" in listed
    assert "in " in listed
    shown = (await command("schedule", "show", "nightly")).out
    for words in ("0 2 * * *", "for the books", "Fires next", "overlap", '{"region":"us"}'):
        assert words in shown


async def test_a_list_can_be_of_one_dag(connection: Connection, command: Command) -> None:
    assert (await command("schedule", "list")).out.startswith("There are no schedules yet.")
    await register_dag(connection, dag_of([], name="other"), "0" * 64)
    for name, dag in (("a", "orders"), ("b", "other"), ("c", "orders")):
        assert (await command("schedule", "create", name, "--dag", dag, *BERLIN)).code == 0
    found = (await command("schedule", "list", "--dag", "orders", "--json")).json
    assert [line["name"] for line in found] == ["a", "c"]
    answer = await command("schedule", "list", "--dag", "order")
    assert answer.code == 2
    assert "did you mean `orders`?" in answer.err
    listed = await command("schedule", "list", "--limit", "2")
    assert "… and more: `--limit` shows more than 2" in listed.out


async def test_several_times_are_one_schedule(command: Command) -> None:
    answer = await command(
        *("schedule", "create", "many", "--dag", "orders", "--cron", "0 2 * * *"),
        *("--cron", "0 4 * * *", "--every", "90m", "--at", "2090-01-01T00:00Z"),
        *("--at", "2091-01-01T00:00Z", "--rrule", "RRULE:FREQ=YEARLY", "--json"),
    )
    assert [when["type"] for when in answer.json["spec"]["when"]] == [
        *("dates", "cron", "cron", "every", "rrule")
    ]


async def test_now_is_at_once(connection: Connection, command: Command) -> None:
    answer = await command("schedule", "create", "soon", "--dag", "orders", "--at", "now", "--json")
    begins = datetime.fromisoformat(answer.json["next_fire_at"])
    assert (
        timedelta(0)
        < begins - datetime.fromisoformat(answer.json["created_at"])
        <= timedelta(seconds=1)
    )
    await tick(connection, begins)
    found = (await command("schedule", "show", "soon", "--json")).json
    assert found["state"] == "finished"
    assert [fire["outcome"] for fire in found["fires"]] == ["fired"]
    assert "No fire is left" in (await command("schedule", "show", "soon")).out


async def test_preview_of_a_stored_schedule_knows_its_zone_and_calendars(
    connection: Connection, command: Command
) -> None:
    await put_calendar(connection, "closed", CalendarSpec(weekdays=("sunday",)))
    await command("schedule", "create", "n", "--dag", "orders", *BERLIN, "--exclude", "closed")
    answer = await command(
        *("schedule", "preview", "n", "--from", "2026-11-20T12:00Z", "--count", "2", "--json")
    )
    assert answer.json == [
        {
            "fire_at": "2026-11-21T01:00:00Z",
            "local": "2026-11-21T02:00:00+01:00",
            "note": None,
        },
        {
            "fire_at": "2026-11-22T01:00:00Z",
            "local": "2026-11-22T02:00:00+01:00",
            "note": "excluded by `closed`",
        },
    ]
    answer = await command("schedule", "preview", "n", "--cron", "0 3 * * *")
    assert answer.code == 2
    assert "schedule diff n" in answer.err
    assert (await command("schedule", "preview", "nn")).code == 2


async def test_a_shell_completes_names_and_is_not_told_of_trouble(
    database_url: str, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("nightly", "nights", "weekly"):
        assert (await command("schedule", "create", name, "--dag", "orders", *BERLIN)).code == 0

    def completed(verb: str, url: str) -> str:
        answer = subprocess.run(
            [sys.executable, "-m", "mainspring"],
            env={
                **os.environ,
                "MAINSPRING_DATABASE_URL": url,
                "_MAINSPRING_COMPLETE": "bash_complete",
                "COMP_WORDS": f"mainspring schedule {verb} nig",
                "COMP_CWORD": "3",
            },
            capture_output=True,
            text=True,
            check=True,
        )
        assert answer.stderr == ""
        return answer.stdout

    for verb in ("show", "put", "diff", "pause", "resume", "remove", "preview"):
        names = await asyncio.to_thread(completed, verb, database_url)
        assert names == "plain,nightly\nplain,nights\n"
    monkeypatch.setenv("MAINSPRING_URL", "")
    assert not completed("show", "postgresql://nobody@127.0.0.1:1/nothing").strip()


async def test_show_tells_of_every_fire_and_version(
    connection: Connection, command: Command
) -> None:
    spec = ScheduleSpec(when=(IntervalSpec(60),), overlap=Overlap.BUFFER_ALL)
    now = (await read_clock(connection)).replace(microsecond=0)
    begin = now - timedelta(seconds=now.timestamp() % 60) - timedelta(minutes=10)
    intent = Intent("busy", "orders", spec)
    await put_schedule(connection, intent, by="tests", now=begin - timedelta(seconds=30))
    await tick(connection, begin)
    await tick(connection, begin + timedelta(minutes=1))
    found = (await command("schedule", "show", "busy", "--json")).json
    assert [fire["outcome"] for fire in found["fires"]] == ["buffered", "fired"]
    run_id = found["fires"][1]["run_id"]
    assert found["open_runs"] == [run_id]
    assert found["buffered"] == 1
    shown = (await command("schedule", "show", "busy")).out
    assert f"waits for the end of run {run_id}" in shown
    assert "1 fire waiting" in shown
    assert (await command("schedule", "put", "busy", "--every", "5m")).code == 0
    found = (await command("schedule", "show", "busy", "--json")).json
    assert [version["version"] for version in found["versions"]] == [2, 1]
    assert found["versions"][1]["in_force_until"] == found["versions"][0]["in_force_from"]
    assert found["versions"][1]["words"] == "every 1 min"
    shown = (await command("schedule", "show", "busy")).out
    assert "Versions" in shown
    assert "misfire: nobody was there in time" in shown or "buffered" in shown


async def test_why_tells_of_a_start_that_jitter_puts_off(
    connection: Connection, command: Command
) -> None:
    spec = ScheduleSpec(when=(IntervalSpec(60),), jitter_seconds=86_400)
    now = await read_clock(connection)
    before = now - timedelta(seconds=61)
    await put_schedule(connection, Intent("late", "orders", spec), by="tests", now=before)
    await tick(connection, now)
    answer = await command("run", "why", "last", "--json")
    assert [cause["reason"] for cause in answer.json["causes"]] == ["jitter"]
    assert "schedule `late` fired at" in (await command("run", "why", "last")).out


# --- changing -------------------------------------------------------------------------------


async def test_put_keeps_what_is_not_said(command: Command) -> None:
    await command(
        *("schedule", "create", "n", "--dag", "orders", *BERLIN, "-p", "region=us"),
        *("--overlap", "max=3", "--limit", "9", "--note", "why"),
    )
    answer = await command("schedule", "put", "n", "--cron", "0 3 * * *", "-p", "days=2", "--json")
    changed = answer.json
    assert changed["changed"] is True
    assert changed["version"] == 2
    assert changed["spec"]["timezone"] == "Europe/Berlin"
    assert (changed["spec"]["overlap"], changed["spec"]["overlap_max"]) == ("buffer_all", 3)
    assert changed["spec"]["limit"] == 9
    assert changed["parameters"] == {"days": 2, "region": "us"}
    assert changed["note"] == "why"
    answer = await command(
        *("schedule", "put", "n", "--overlap", "allow_all", "--limit", "none", "--params", "{}"),
        "--json",
    )
    assert (answer.json["spec"]["overlap"], answer.json["spec"]["overlap_max"]) == (
        "allow_all",
        None,
    )
    assert answer.json["spec"]["limit"] is None
    assert answer.json["parameters"] == {}
    assert answer.json["spec"]["when"] == [{"type": "cron", "expression": "0 3 * * *"}]


async def test_changes_that_several_people_make_at_once_are_all_kept(
    database_url: str, command: Command
) -> None:
    await command("schedule", "create", "n", "--dag", "orders", *BERLIN)
    options = [("--limit", "9"), ("--jitter", "5m"), ("--note", "why"), ("-p", "days=3")]

    async def put(*said: str) -> int | None:
        child = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "mainspring", "schedule", "put", "n", *said),
            env={**os.environ, "MAINSPRING_DATABASE_URL": database_url},
            stdout=asyncio.subprocess.DEVNULL,
        )
        return await child.wait()

    assert await asyncio.gather(*(put(*said) for said in options)) == [0] * len(options)
    found = (await command("schedule", "show", "n", "--json")).json
    assert found["version"] == 1 + len(options)
    assert (found["spec"]["limit"], found["spec"]["jitter_seconds"]) == (9, 300)
    assert (found["note"], found["parameters"]) == ("why", {"days": 3})


async def test_put_of_what_is_so_already_changes_nothing(
    connection: Connection, command: Command
) -> None:
    await command("schedule", "create", "n", "--dag", "orders", *BERLIN)
    before = await ledger(connection)
    answer = await command("schedule", "put", "n", *BERLIN)
    assert answer.out.startswith("schedule n of orders is so already, version 1: every day")
    assert await ledger(connection) == before


async def test_put_makes_what_there_is_not(command: Command) -> None:
    answer = await command("schedule", "put", "n", "--dag", "orders", *BERLIN, "--version", "0")
    assert answer.out.startswith("schedule n of orders is made, version 1")


async def test_a_stale_version_shows_the_current_one(
    connection: Connection, command: Command
) -> None:
    await command("schedule", "create", "n", "--dag", "orders", *BERLIN)
    await command("schedule", "put", "n", "--cron", "0 3 * * *", "--version", "1")
    before = await ledger(connection)
    answer = await command("schedule", "put", "n", "--cron", "0 4 * * *", "--version", "1")
    assert answer.code == 2
    assert "is at version 2, not 1: every day at 03:00 (Europe/Berlin)" in answer.err
    assert await ledger(connection) == before


async def test_diff_tells_what_a_change_would_do_and_changes_nothing(
    connection: Connection, command: Command
) -> None:
    await command("schedule", "create", "n", "--dag", "orders", *BERLIN)
    before = await ledger(connection)
    change = ("--cron", "30 2 * * *", "--cron", "0 20 * * SUN", "--overlap", "skip")
    when = ("--from", "2026-11-20T12:00Z", "--days", "2")
    found = (await command("schedule", "diff", "n", *change, *when, "--json")).json
    assert [(fire["difference"], fire["before"], fire["after"]) for fire in found["fires"]] == [
        ("moved", "2026-11-21T01:00:00Z", "2026-11-21T01:30:00Z"),
        ("removed", "2026-11-22T01:00:00Z", None),
        ("added", None, "2026-11-22T01:30:00Z"),
        ("added", None, "2026-11-22T19:00:00Z"),
    ]
    assert {option["option"] for option in found["options"]} == {"when", "overlap"}
    told = (await command("schedule", "diff", "n", *change, *when)).out
    assert "2 added, 1 removed, 1 moved, 0 as before" in told
    assert "Sat 2026-11-21 02:30:00 CET" in told
    assert "30 min later" in told
    assert '~ overlap "allow_all" → "skip"' in told
    none = await command("schedule", "diff", "n", *BERLIN, *when)
    assert "no fire changes, 2 as before" in none.out
    new = await command("schedule", "diff", "new", "--dag", "orders", *BERLIN, *when, "--json")
    assert [fire["difference"] for fire in new.json["fires"]] == ["added", "added"]
    assert await ledger(connection) == before


async def test_pause_resume_and_remove_take_several_or_none(
    connection: Connection, command: Command
) -> None:
    for name in ("a", "b"):
        await command("schedule", "create", name, "--dag", "orders", *BERLIN)
    before = await ledger(connection)
    for verb in ("pause", "resume", "remove"):
        answer = await command("schedule", verb, "a", "bb")
        assert answer.code == 2
        assert "there is no schedule `bb`" in answer.err
    assert await ledger(connection) == before
    answer = await command("schedule", "pause", "a", "b", "--note", "holidays")
    assert answer.out.splitlines()[:2] == [
        "schedule a is paused",
        "paused; let it go on: mainspring schedule resume a",
    ]
    listed = (await command("schedule", "list", "--json")).json
    assert {line["state"] for line in listed} == {"paused"}
    assert listed[0]["pause"]["note"] == "holidays"
    assert listed[0]["pause"]["by"]
    shown = (await command("schedule", "show", "a")).out
    assert "holidays" in shown
    assert "Would fire, if it were not paused" in shown
    again = await command("schedule", "pause", "a", "--json")
    assert again.json[0]["changed"] is False
    assert again.json[0]["pause"]["note"] == "holidays"
    assert (await command("schedule", "resume", "a", "b")).out.startswith("schedule a goes on\n")
    assert "schedule a was not paused" in (await command("schedule", "resume", "a")).out
    assert "is removed" in (await command("schedule", "remove", "a", "b")).out
    assert (await command("schedule", "list", "--json")).json == []
    assert (await command("schedule", "show", "a")).code == 2


async def test_what_a_file_says_is_changed_only_there(
    connection: Connection, command: Command
) -> None:
    spec = ScheduleSpec(when=(IntervalSpec(3600),))
    await put_schedule(connection, Intent("n", "orders", spec, in_code=True), by="file")
    for words in (("put", "n", *BERLIN), ("remove", "n")):
        answer = await command("schedule", *words)
        assert answer.code == 2
        assert "is written in the file of its dag" in answer.err
    assert (await command("schedule", "pause", "n")).code == 0
    assert "the file of its dag" in (await command("schedule", "show", "n")).out


async def test_show_says_why_fires_are_refused(connection: Connection, command: Command) -> None:
    await put_calendar(connection, "closed", CalendarSpec(weekdays=("sunday",)))
    await command(
        *("schedule", "create", "n", "--dag", "orders", *BERLIN, "-p", "days=2"),
        *("--exclude", "closed"),
    )
    await connection.execute("delete from mainspring.calendar")
    await register_dag(connection, dag_of([], name="orders"), "1" * 64)
    found = (await command("schedule", "show", "n", "--json")).json
    assert "does not take its parameters" in found["problems"][0]
    assert found["problems"][1] == "it cannot fire: there is no calendar `closed`"
    shown = (await command("schedule", "show", "n")).out
    assert "its fires are refused: dag `orders` does not take its parameters" in shown
    assert "it cannot fire: there is no calendar `closed`" in shown


async def test_show_tells_the_rest_of_what_cannot_be_computed_here(
    connection: Connection, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    await put_calendar(connection, "feasts", CalendarSpec(country="DE"))
    await command("schedule", "create", "n", "--dag", "orders", *BERLIN, "--exclude", "feasts")
    # As where the extra `holidays` is not installed.
    monkeypatch.setitem(sys.modules, "holidays", None)
    found = (await command("schedule", "show", "n", "--json")).json
    assert found["next_fires"] == []
    [problem] = found["problems"]
    assert problem.startswith("its fires cannot be computed here: country: `DE` needs the package")
    assert "every day at 02:00" in (await command("schedule", "show", "n")).out
    assert (await command("schedule", "preview", "n")).code == 2


# --- bad input ------------------------------------------------------------------------------

BAD = {
    "an impossible date": (("--cron", "0 0 30 2 *"), "30"),
    "an hour that is none": (("--cron", "0 24 * * *"), "hour"),
    "too few fields": (("--cron", "0 2 *"), "fields"),
    "a name that is none": (("--cron", "0 2 * * MOO"), "MOO"),
    "an unknown zone": ((*BERLIN[:2], "--timezone", "Europe/Berlim"), "Europe/Berlin"),
    "an end before the start": (
        (*BERLIN, "--start", "2027-01-02T00:00Z", "--end", "2027-01-01T00:00Z"),
        "is before the start",
    ),
    "a negative interval": (("--every", "-5m"), "is negative"),
    "under a second": (("--every", "0.5s"), "is shorter than 1 s"),
    "no length of time": (("--every", "often"), "often"),
    "the year 9999": (("--at", "9999-12-31T23:59:59Z"), "1970 to 2099"),
    "no instant": (("--at", "tomorrow"), "is no instant"),
    "a rule that is none": (("--rrule", "RRULE:FREQ=OFTEN"), "FREQ"),
    "an unknown calendar": ((*BERLIN, "--exclude", "nowhere"), "is not a calendar"),
    "no times": ((), "has no times"),
    "a phase without an interval": ((*BERLIN, "--phase", "5m"), "--every"),
    "an unknown policy": ((*BERLIN, "--overlap", "skp"), "did you mean `skip`?"),
    "an unknown misfire": ((*BERLIN, "--misfire", "some"), "--misfire"),
    "a limit of nothing": ((*BERLIN, "--limit", "0"), "limit"),
    "a limit that is no number": ((*BERLIN, "--limit", "ten"), "is no whole number"),
    "a negative count": ((*BERLIN, "--max-count", "-1"), "max_count"),
    "a jitter of ages": ((*BERLIN, "--jitter", "9999999d"), "jitter"),
    "an unknown parameter": ((*BERLIN, "-p", "regoin=eu"), "regoin"),
    "a parameter of another type": ((*BERLIN, "-p", "days=many"), "days"),
    "a note without end": ((*BERLIN, "--note", "x" * 1001), "a note has at most"),
    "a NUL in a cron line": (("--cron", "0 2 * * *\0"), "2"),
}


@pytest.mark.parametrize("case", BAD)
async def test_what_cannot_be_is_refused_and_nothing_changes(
    connection: Connection, command: Command, case: str
) -> None:
    options, said = BAD[case]
    before = await ledger(connection)
    for words in (("create", "n", "--dag", "orders"), ("put", "n", "--dag", "orders")):
        answer = await command("schedule", *words, *options)
        assert answer.code == 2, answer
        assert said in answer.err
        assert "unexpected" not in answer.err
    assert await ledger(connection) == before
    as_json = await command("schedule", "create", "n", "--dag", "orders", *options, "--json")
    assert as_json.err.startswith('{"error":{"code":')


async def test_ten_thousand_dates_are_refused(connection: Connection, command: Command) -> None:
    days = [datetime(2030, 1, 1, tzinfo=UTC) + timedelta(hours=n) for n in range(10_000)]
    dates = [each for day in days for each in ("--at", day.isoformat())]
    answer = await command("schedule", "create", "n", "--dag", "orders", *dates)
    assert answer.code == 2
    assert "10,000 dates" in answer.err
    assert not await ledger(connection)


@pytest.mark.parametrize("name", ["", "a b", "a\0b", "n" * 201, "../x", "käse"])
async def test_names_that_cannot_be_are_refused(
    connection: Connection, command: Command, name: str
) -> None:
    for verb in ("create", "put", "diff"):
        answer = await command("schedule", verb, name, "--dag", "orders", *BERLIN)
        assert answer.code == 2
        assert "the schedule's name" in answer.err
    for verb in ("show", "pause", "resume", "remove", "preview"):
        answer = await command("schedule", verb, name)
        assert answer.code == 2
        assert "there is no schedule" in answer.err
    assert not await ledger(connection)


async def test_unknown_dags_and_taken_names_are_refused(
    connection: Connection, command: Command
) -> None:
    answer = await command("schedule", "create", "n", "--dag", "order", *BERLIN)
    assert answer.code == 2
    assert "did you mean `orders`?" in answer.err
    answer = await command("schedule", "put", "n", *BERLIN)
    assert answer.code == 2
    assert "--dag" in answer.err
    await command("schedule", "create", "n", "--dag", "orders", *BERLIN)
    before = await ledger(connection)
    answer = await command("schedule", "create", "n", "--dag", "orders", *BERLIN)
    assert answer.code == 2
    assert "there is a schedule `n` already" in answer.err
    assert await ledger(connection) == before
    answer = await command("schedule", "show", "m")
    assert "there is no schedule `m`" in answer.err


async def test_a_broken_change_leaves_the_schedule_as_it_was(
    connection: Connection, command: Command
) -> None:
    await command("schedule", "create", "n", "--dag", "orders", *BERLIN)
    [standing] = await standing_schedules(connection, None, [1])
    for options, _ in BAD.values():
        if options:
            assert (await command("schedule", "put", "n", *options)).code == 2
    [now] = await standing_schedules(connection, None, [1])
    assert (now.turn, now.spec, now.version) == (standing.turn, standing.spec, standing.version)
