"""Ids in advance."""

from __future__ import annotations

from mainspring.client.reserve import Reserve
from mainspring.store.ids import KEPT_SECONDS


def test_ids_are_taken_in_order_and_once() -> None:
    reserve = Reserve()
    reserve.add([1, 501], now=0.0)
    taken = [reserve.take(1, now=0.0) for _ in range(200)]
    assert taken == [*range(1, 101), *range(501, 601)]
    assert reserve.take(1, now=0.0) is None
    assert reserve.left == 0


def test_neighbouring_blocks_hold_large_dags() -> None:
    reserve = Reserve()
    reserve.add([1, 101, 201, 901], now=0.0)
    assert reserve.take(250, now=0.0) == 1
    assert reserve.take(100, now=0.0) == 901
    assert reserve.take(51, now=0.0) is None
    assert reserve.take(50, now=0.0) == 251
    assert reserve.left == 0


def test_blocks_that_lay_too_long_are_thrown_away() -> None:
    reserve = Reserve()
    reserve.add([1], now=0.0)
    reserve.add([101], now=60.0)
    assert reserve.take(1, now=KEPT_SECONDS) == 1
    assert reserve.take(1, now=KEPT_SECONDS + 1) == 101
    assert reserve.take(1, now=KEPT_SECONDS + 61) is None
