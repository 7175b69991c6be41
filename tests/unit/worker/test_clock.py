"""The database's clock is learned from quick answers."""

from __future__ import annotations

from datetime import UTC, datetime

from mainspring.worker.clock import DatabaseClock

SECOND_NS = 1_000_000_000
MS_NS = 1_000_000


def at(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def test_a_quick_answer_tells_the_difference() -> None:
    clock = DatabaseClock()
    clock.learn(at(105.001), 100 * SECOND_NS, 100 * SECOND_NS + 2 * MS_NS)
    assert clock.database_us(0) == 5_000_000


def test_a_slow_answer_does_not_shift_what_a_quick_one_told() -> None:
    clock = DatabaseClock()
    clock.learn(at(100.0005), 100 * SECOND_NS, 100 * SECOND_NS + MS_NS)
    clock.learn(at(200.4), 200 * SECOND_NS, 200 * SECOND_NS + 400 * MS_NS)
    assert clock.database_us(0) == 0


def test_slow_answers_are_believed_when_nothing_better_is_heard() -> None:
    clock = DatabaseClock()
    clock.learn(at(100.0005), 100 * SECOND_NS, 100 * SECOND_NS + MS_NS)
    for beat in range(40):
        sent = (200 + beat) * SECOND_NS
        clock.learn(at(203.005 + beat), sent, sent + 10 * MS_NS)
    assert clock.database_us(0) == 3_000_000
