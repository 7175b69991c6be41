"""An application's own tasks, as the tests of the client enqueue them and as workers run them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import date
from typing import Any
from uuid import UUID

import msgspec

from mainspring import dag, task


def effect(*words: object) -> None:
    with open(os.environ["EFFECTS"], "a", encoding="utf-8") as file:
        file.write(" ".join(map(str, words)) + "\n")


@task
async def bake(loaves: int, kind: str = "rye") -> str:
    """Bake, and leave a trace of it."""
    effect("baked", loaves, kind)
    return f"{loaves} {kind}"


@task(executor="thread", queue="counter")
def sell(loaves: int) -> None:
    effect("sold", loaves)


@task
def take(anything: Any) -> None:
    """Takes whatever there is."""


@dataclass
class Order:
    customer: UUID
    loaves: int


class Cake(msgspec.Struct):
    name: str
    on: date


@task
async def deliver(order: Order, cake: Cake | None = None, day: date | None = None) -> str:
    answer = f"{order.customer} {order.loaves} {cake.name if cake else '-'} {day}"
    effect("delivered", answer)
    return answer


@task
async def meet(run_at: str = "noon", connection: str = "bus") -> str:
    """Its parameters are named like options."""
    effect("met", run_at, connection)
    return f"{run_at} {connection}"


@dag
def day(loaves: int = 3) -> None:
    """A dag of the application: more than one task."""
    bake(loaves) >> bake(loaves, kind="wheat")
