"""Schedules in files of dags, from the file to the run that knows its fire, with real processes."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import msgspec

from mainspring.schedule.calendars import CalendarSpec
from mainspring.store.schedule_changes import pause_schedule, put_calendar
from tests.support.team import Team

SLOTS = "async=10,thread=2,process=2,command=2"

TICKING = """
import json
from mainspring import Schedule, context

def tell(word):
    here = context()
    effect(word, json.dumps({
        "run": here.run_id, "schedule": here.schedule, "parameters": dict(here.parameters),
        "fire_at": here.fire_at and here.fire_at.isoformat(),
        "interval": here.data_interval and [each.isoformat() for each in here.data_interval],
    }))

@task
async def first(word: str):
    tell("fired")

@task(executor="command")
def second(before):
    tell("fired")
    return ["sh", "-c", 'echo "variables $MAINSPRING_SCHEDULE|$MAINSPRING_FIRE_AT'
            '|$MAINSPRING_DATA_INTERVAL_START|$MAINSPRING_DATA_INTERVAL_END" >> "$EFFECTS"']

@dag(schedule=Schedule("every 1s", name="quick", limit=2, interval="1h", parameters={"word": "b"}))
def ticking(word: str = "a"):
    second(first(word))
"""

PLAIN = """
@task
def work():
    effect("worked")

@dag({options})
def quiet():
    work()
"""


def _plain(options: str = "") -> str:
    return "from mainspring import Schedule\n" + PLAIN.format(options=options)


async def _schedules(team: Team) -> dict[str, int]:
    """Those that are in force, and their versions."""
    rows = await team.rows("select name, version from mainspring.schedule where gone_at is null")
    return {row["name"]: row["version"] for row in rows}


async def _become(team: Team, wanted: dict[str, int]) -> None:
    async def became() -> bool:
        return await _schedules(team) == wanted

    await team.until(became)


async def _problem(team: Team) -> str:
    async def told() -> str | None:
        rows = await team.rows("select message from mainspring.file_problem")
        return str(rows[0]["message"]) if rows else None

    return await team.until(told)


async def test_a_dag_with_a_schedule_runs_by_itself_and_knows_its_fire(team: Team) -> None:
    team.write("ticking.py", TICKING)
    team.start_engine()
    team.start_worker("--slots", SLOTS)

    async def fired() -> list[Any] | None:
        told = [msgspec.json.decode(line) for line in team.effects_of("fired")]
        return told if len(told) == 4 and len(team.effects_of("variables")) == 2 else None

    told = await team.until(fired)
    runs = {each["run"]: each for each in told}
    assert len(runs) == 2
    instants = sorted(datetime.fromisoformat(each["fire_at"]) for each in runs.values())
    assert instants[1] > instants[0]
    for each in told:
        fire_at = datetime.fromisoformat(each["fire_at"])
        assert each == {
            **runs[each["run"]],
            "schedule": "ticking.quick",
            "parameters": {"word": "b"},
            "interval": [(fire_at - timedelta(hours=1)).isoformat(), fire_at.isoformat()],
        }
    words = [
        f"ticking.quick|{fire_at:%Y-%m-%dT%H:%M:%SZ}"
        f"|{fire_at - timedelta(hours=1):%Y-%m-%dT%H:%M:%SZ}|{fire_at:%Y-%m-%dT%H:%M:%SZ}"
        for fire_at in instants
    ]
    assert sorted(team.effects_of("variables")) == words

    # A trigger by hand works as before, and has no fire.
    run_id = await team.trigger("ticking", {"word": "c"})
    assert await team.ended(run_id) == "succeeded"
    by_hand = [msgspec.json.decode(line) for line in team.effects_of("fired")][4:]
    assert by_hand == 2 * [
        {
            "run": run_id,
            "schedule": None,
            "parameters": {"word": "c"},
            "fire_at": None,
            "interval": None,
        }
    ]
    assert team.effects_of("variables")[2:] == ["|||"]


async def test_the_schedules_follow_the_file(team: Team) -> None:
    team.write("quiet.py", _plain('schedule="@yearly"'))
    team.start_engine()
    team.start_engine()
    await _become(team, {"quiet": 1})
    team.write("quiet.py", _plain('schedule="@monthly", timezone="Europe/Berlin"'))
    await _become(team, {"quiet": 2})
    # A schedule is no part of the graph: it is the same version of the dag.
    dags = await team.rows("select v.number from mainspring.version v")
    assert [row["number"] for row in dags] == [1]

    await pause_schedule(team.connection, "quiet", by="tests")
    team.write("quiet.py", _plain('schedule="@weekly"'))
    await _become(team, {"quiet": 3})
    paused = await team.rows("select paused_by from mainspring.schedule")
    assert [row["paused_by"] for row in paused] == ["tests"]

    team.write(
        "quiet.py",
        _plain('schedule=[Schedule("@yearly", name="a"), Schedule("@monthly", name="b")]'),
    )
    await _become(team, {"quiet.a": 1, "quiet.b": 1})
    (team.dags / "quiet.py").unlink()
    await _become(team, {})


async def test_a_broken_file_keeps_its_schedules(team: Team) -> None:
    team.write("quiet.py", _plain('schedule="@yearly"'))
    team.start_engine()
    await _become(team, {"quiet": 1})
    team.write("quiet.py", _plain('\n    schedule="61 * * * *",\n'))
    assert "cron `61 * * * *`, minute: `61` is not between 0 and 59" in await _problem(team)
    [line] = await team.rows("select line from mainspring.file_problem")
    lines = (team.dags / "quiet.py").read_text("utf-8").splitlines()
    assert lines[line["line"] - 1].startswith("@dag(")
    assert await _schedules(team) == {"quiet": 1}


async def test_a_schedule_waits_for_its_calendar_and_nothing_else_does(team: Team) -> None:
    team.write("quiet.py", _plain('schedule=Schedule("@daily", exclude="closed")'))
    team.write("other.py", _plain('name="other", schedule="@yearly"'))
    team.start_engine()
    assert await _problem(team) == "schedule `quiet`: exclude: `closed` is not a calendar"
    await _become(team, {"other": 1})
    await put_calendar(team.connection, "closed", CalendarSpec(weekdays=("sat", "sun")))
    await _become(team, {"other": 1, "quiet": 1})

    async def solved() -> bool:
        return not await team.rows("select 1 from mainspring.file_problem")

    await team.until(solved)
