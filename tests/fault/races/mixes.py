"""Random mixes: three or four sessions, several operations each, in a world with a bit of all.

From the seed follows who does what, how each transaction ends, and who goes next. Where an end
frees several sessions at once the server chooses, so one seed may have more than one order.

Too many operations take part for all serial orders to be tried: the promises, the liveness and the
number of ends are asked, and whether those who used one key were told the same run.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from tests.fault.races.arena import SESSIONS, Arena, Case, Failure, check
from tests.fault.races.operations import OPERATIONS, TURNS_MAX, Answer, Operation
from tests.fault.races.play import race, turns_of
from tests.fault.races.stepper import Ending, Played, Turn, Unexpected
from tests.fault.races.worlds import World

_WORKER = ("claim {0}", "claim one {0}", "complete {0}", "complete {0}", "fail {0}", "renew {0}")
_LEAVING = ("renew {0} forgetfully", "drain {0}", "give up {0}", "start {0}")
_OTHERS = (
    "create",
    "create again",
    "enqueue",
    "enqueue otherwise",
    "enqueue two",
    "enqueue the kept key",
    "reap A",
    "reap B",
    "wake",
    "wake starts",
    "cancel",
    "prioritize",
    "time out",
    "archive",
    "reopen",
    "forget",
)
_BY_HAND = ("mark", "mark second", "skip second")
_SCHEDULES = ("fire", "fire as seen", "follow", "put", "pause", "resume")

_ENDINGS = {
    Ending.COMMIT: 60,
    Ending.ROLL_BACK: 17,
    Ending.UNKNOWN_COMMIT: 20,
    Ending.KILL: 3,
}


async def play_mix(arena: Arena, seed: int, *, by_hand: bool = True) -> Failure | None:
    """What is wrong with a mix by itself; the rest is asked when its batch is closed."""
    random = Random(seed)
    case = Case(lambda reason: _printed(seed, reason))
    world = await arena.world("busy", case)
    world.lively = True
    others = (*_OTHERS, *_BY_HAND, *_SCHEDULES) if by_hand else _OTHERS
    sessions = range(1, random.randint(3, SESSIONS) + 1)
    plans = [_plan(random, world, session, others) for session in sessions]
    try:
        await race(arena, case, plans, lambda possible, parked: random.choice(sorted(possible)), [])
    except Unexpected as unexpected:
        return case.failure(str(unexpected))
    names = {turn.name for plan in plans for turn in plan}
    if "forget" not in names and (torn := _torn_keys(arena.stepper.played)):
        return case.failure(f"callers were told different runs of one key: {torn}")
    arena.counts.mixes += 1
    return None


def _printed(seed: int, reason: str) -> str:
    first = reason.splitlines()[0][:80].replace('"', "'")
    return (
        f"async def test_the_mix_of_seed_{seed}(arena: Arena) -> None:\n"
        f'    """{first}"""\n'
        f"    await replay_mix(arena, seed={seed})\n"
    )


async def replay_mix(arena: Arena, *, seed: int, times: int = 20, by_hand: bool = True) -> None:
    """Play one mix, in several of its orders if there are more, and raise if one is wrong.

    Without `by_hand`, one that was found before people could close tasks, and had schedules.
    """
    for _ in range(times):
        failure = await play_mix(arena, seed, by_hand=by_hand)
        check([failure] if failure else await arena.failures())


def _plan(random: Random, world: World, session: int, others: Sequence[str]) -> list[Turn]:
    """Two to four transactions: of a worker for the first sessions, of anybody for the others."""
    turns: list[Turn] = []
    wanted = random.randint(2, TURNS_MAX)
    while len(turns) < wanted:
        operation = _operation(random, session, others)
        if len(turns) + len(operation.parts) <= TURNS_MAX:
            [ending] = random.choices(list(_ENDINGS), list(_ENDINGS.values()))
            turns += turns_of(world, session, operation, ending, first_turn=len(turns))
    return turns


def _operation(random: Random, session: int, others: Sequence[str]) -> Operation:
    worker = "AB"[session % 2]
    names = others
    if session <= 2 or random.random() < 0.3:
        names = _LEAVING if random.random() < 0.2 else _WORKER
    return OPERATIONS[random.choice(names).format(worker)]


def _torn_keys(played: Sequence[Played]) -> dict[str, set[int]]:
    """Keys of which callers were told different runs; if none was forgotten, there are none."""
    runs: dict[str, set[int]] = {}
    for each in played:
        if each.ended == "committed" and isinstance(each.told, Answer):
            told = each.told.told
            if isinstance(told, dict) and "made" in told:
                for key, run in told["runs"]:
                    if key:
                        runs.setdefault(key, set()).add(run)
    return {key: found for key, found in runs.items() if len(found) > 1}
