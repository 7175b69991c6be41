"""Which queues a worker serves: never more than its token is for.

Looked at when it joins, and at every call after that: who knows a worker's id but has another token
does nothing in its name, and what a token is for may be asked of the database anew at any time.
"""

from __future__ import annotations

from collections.abc import Sequence

from mainspring.api.problems import Refusal
from mainspring.domain.errors import InputError
from mainspring.domain.lanes import EVERY_QUEUE
from mainspring.domain.names import listed, name_problem, shown
from mainspring.store.tokens import Caller


def served_queues(wanted: Sequence[str], caller: Caller) -> list[str]:
    """As the worker wishes; `*` stands for all that its token is for."""
    if list(wanted) == [EVERY_QUEUE]:
        return list(caller.queues)
    for name in wanted:
        if problem := name_problem(name):
            raise InputError(f"queue {shown(name)} {problem}")
    check_queues(wanted, caller)
    return list(dict.fromkeys(wanted))


def check_queues(served: Sequence[str], caller: Caller) -> None:
    for name in served:
        if name not in caller.queues:
            raise Refusal(
                403,
                "forbidden",
                f"token `{caller.name}` is not for queue {shown(name)}",
                hint=f"it is for {listed(caller.queues)}",
            )
