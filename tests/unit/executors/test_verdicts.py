"""The table of blame: what the end of a host means for each job in it."""

from __future__ import annotations

import signal

import pytest

from mainspring.domain.outcomes import Failed, Lost
from mainspring.executors.verdicts import (
    Progress,
    could_not_start,
    ending_of,
    gave_up,
    host_ended,
    import_took_too_long,
    timed_out,
    verdicts,
)

NOT_BEGUN, IMPORTING, RUNNING, OVER = Progress


@pytest.mark.parametrize(
    ("jobs", "killed", "expected"),
    [
        ([], False, []),
        ([NOT_BEGUN], False, [None]),
        ([NOT_BEGUN], True, [None]),
        ([RUNNING], False, [Failed]),
        ([IMPORTING], False, [Failed]),
        ([OVER], False, [Lost]),
        ([RUNNING], True, [Lost]),
        ([IMPORTING], True, [Lost]),
        ([OVER], True, [Lost]),
        ([RUNNING, NOT_BEGUN, OVER], False, [Failed, None, Lost]),
        ([RUNNING, RUNNING, NOT_BEGUN], False, [Lost, Lost, None]),
        ([RUNNING, IMPORTING], False, [Lost, Lost]),
        ([RUNNING, NOT_BEGUN, OVER], True, [Lost, None, Lost]),
    ],
)
def test_who_is_blamed(
    jobs: list[Progress], killed: bool, expected: list[type[Failed] | type[Lost] | None]
) -> None:
    found = verdicts(dict(enumerate(jobs)), "the reason", killed=killed)
    kinds = [None if found[number] is None else type(found[number]) for number in range(len(jobs))]
    assert kinds == expected
    for outcome in found.values():
        if isinstance(outcome, (Failed, Lost)):
            assert outcome.error.type == "HostDied"
            assert outcome.error.message.startswith("the reason")


def test_the_words_tell_the_cases_apart() -> None:
    def message(jobs: list[Progress]) -> str:
        outcome = verdicts(dict(enumerate(jobs)), "it died", killed=False)[0]
        assert isinstance(outcome, (Failed, Lost))
        return outcome.error.message

    assert message([RUNNING]) == "it died"
    assert message([IMPORTING]) == "it died while its module was imported"
    assert message([RUNNING, RUNNING]) == "it died with other tasks in it"
    assert message([OVER]) == "it died before it could tell the result"


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (0, "exited with status 0"),
        (3, "exited with status 3"),
        (-signal.SIGSEGV, "was killed by SIGSEGV"),
        (-64, "was killed by SIGRTMAX"),
        (-33, "was killed by signal 33"),
    ],
)
def test_an_exit_status_in_words(status: int, words: str) -> None:
    assert ending_of(status) == words
    assert host_ended(status) == f"the host process {words}"


def test_a_kill_from_outside_may_have_been_for_memory() -> None:
    assert host_ended(-signal.SIGKILL).endswith("SIGKILL (out of memory?)")


def test_limits_and_hopeless_starts_name_their_numbers_and_reasons() -> None:
    assert timed_out(0.5).error.message == "took longer than 0.5 s"
    assert import_took_too_long(120.0).error.message.endswith("took longer than 120 s")
    assert gave_up("it died").error.message == "not started, 3 times: it died"
    assert could_not_start("no memory").error.message.endswith(": no memory")
