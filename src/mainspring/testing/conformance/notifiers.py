"""Whether a notifier can be told as the engine tells it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import msgspec

from mainspring.domain.errors import InputError
from mainspring.domain.notices import TOLD_STATES, Notice
from mainspring.plugins.shapes import Notifier, notifier_problem


def check_notifier(
    notifier: type[Notifier],
    address: str = "",
    *,
    deaf_address: str | None = None,
    wrong_address: str | None = None,
) -> list[Notice]:
    """Tell notices of each kind of end, in several threads at once, and one of them twice.

    `deaf_address` is one where nobody listens: telling has to raise, or the notice would be lost.
    `wrong_address` makes no sense: it has to be refused when the notifier is made, by `InputError`.
    Gives back what was told, so that a test can look whether it came.
    """
    problem = notifier_problem(notifier)
    assert not problem, f"the notifier {problem}"
    ended = datetime.now(UTC)
    notices = [
        Notice(number, "conformance", state, 3, int(state == "failed"), ended, None, ended)
        for number, state in enumerate(TOLD_STATES, 1)
    ]
    notices[0] = msgspec.structs.replace(notices[0], started_at=ended - timedelta(seconds=1))
    with ThreadPoolExecutor(len(notices)) as threads:
        # Each by an object of its own, as in the engine's child.
        list(threads.map(lambda notice: notifier(address).notify(notice), notices))
    notifier(address).notify(notices[0])
    if deaf_address is not None:
        _check_deaf(notifier, deaf_address, notices[0])
    if wrong_address is not None:
        _check_wrong(notifier, wrong_address)
    return [*notices, notices[0]]


def _check_deaf(notifier: type[Notifier], address: str, notice: Notice) -> None:
    made = notifier(address)
    try:
        made.notify(notice)
    except Exception:
        return
    raise AssertionError("nobody listened, and nothing was raised: such a notice would be lost")


def _check_wrong(notifier: type[Notifier], address: str) -> None:
    try:
        notifier(address)
    except InputError:
        return
    raise AssertionError("an address that makes no sense was accepted: raise `InputError`")
