"""Plans as data: what EXPLAIN says of a statement, and what can be asked of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from typing import Any, Concatenate, ParamSpec, cast

import msgspec

from mainspring.store.connection import Connection
from mainspring.store.statements import STATEMENTS, statement

_P = ParamSpec("_P")


class Node(msgspec.Struct, frozen=True):
    """One node of a plan, under PostgreSQL's own names for its parts."""

    kind: str = msgspec.field(name="Node Type")
    alias: str = msgspec.field(name="Alias", default="")
    relation: str | None = msgspec.field(name="Relation Name", default=None)
    index: str | None = msgspec.field(name="Index Name", default=None)
    cte: str | None = msgspec.field(name="CTE Name", default=None)
    subplan: str = msgspec.field(name="Subplan Name", default="")
    rows: float = msgspec.field(name="Actual Rows", default=0)
    loops: float = msgspec.field(name="Actual Loops", default=0)
    removed_by_filter: float = msgspec.field(name="Rows Removed by Filter", default=0)
    removed_by_join: float = msgspec.field(name="Rows Removed by Join Filter", default=0)
    nodes: tuple[Node, ...] = msgspec.field(name="Plans", default=())

    def walk(self) -> Iterator[Node]:
        yield self
        for node in self.nodes:
            yield from node.walk()

    @property
    def handled(self) -> float:
        """The rows that this node gave on or looked at in vain; PostgreSQL tells them per loop."""
        return (self.rows + self.removed_by_filter + self.removed_by_join) * self.loops


class Plan(msgspec.Struct, frozen=True):
    root: Node
    text: str
    """As EXPLAIN shows it to people, for the messages of failed tests."""

    def kinds(self) -> set[str]:
        return {node.kind for node in self.root.walk()}

    def indexes(self) -> set[str]:
        return {node.index for node in self.root.walk() if node.index is not None}

    def scanned(self, relation: str) -> set[str]:
        """The kinds of scan that read a table."""
        return {
            node.kind
            for node in self.root.walk()
            if node.relation == relation and node.kind.endswith("Scan")
        }

    def read_whole(self) -> set[str]:
        """The tables of which every row is read."""
        return {
            node.relation
            for node in self.root.walk()
            if node.kind == "Seq Scan" and node.relation is not None
        }

    def cte(self, name: str) -> Node:
        return next(node for node in self.root.walk() if node.subplan == f"CTE {name}")

    def rows_handled(self) -> float:
        """A measure of the work that no clock disturbs."""
        return sum(node.handled for node in self.root.walk())


async def explain(connection: Connection, name: str, *args: object, run: bool = False) -> Plan:
    """The plan that the hot connections use; with `run`, executed and counted."""
    return await _explain(connection, statement(name), args, run)


async def explain_call(
    connection: Connection,
    name: str,
    call: Callable[Concatenate[Connection, _P], Awaitable[object]],
    /,
    *args: _P.args,
    **kwargs: _P.kwargs,
) -> Plan:
    """The plan of the statement `name`, executed with what `call` passes to it."""
    listener = _Listener()
    await call(cast(Connection, listener), *args, **kwargs)
    [(sql, values)] = [asked for asked in listener.asked if asked[0] == STATEMENTS[name]]
    return await _explain(connection, sql, values, True)


class _Listener:
    """Stands for a connection: notes what it is asked and answers nothing."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, tuple[object, ...]]] = []

    async def fetch(self, sql: str, *args: object) -> list[object]:
        self.asked.append((sql, args))
        return []


async def _explain(connection: Connection, sql: str, args: tuple[object, ...], run: bool) -> Plan:
    # Only PREPARE makes a plan for any parameters, and EXPLAIN EXECUTE takes literals alone.
    kinds = (await connection.prepare(sql)).get_parameters()
    literals = [
        await _literal(connection, kind.name, value)
        for kind, value in zip(kinds, args, strict=True)
    ]
    values = f"({', '.join(literals)})" if literals else ""
    await connection.execute(f"prepare explained as {sql}")
    lines = await connection.fetch(f"explain (costs off) execute explained{values}")
    options = "analyze, timing off, summary off, buffers off" if run else "costs off"
    found = await connection.fetchval(f"explain ({options}, format json) execute explained{values}")
    await connection.execute("deallocate explained")
    [plan] = msgspec.json.decode(found, type=list[dict[str, Any]])
    return Plan(msgspec.convert(plan["Plan"], Node), "\n".join(line[0] for line in lines))


async def _literal(connection: Connection, kind: str, value: object) -> str:
    quoted: str | None = await connection.fetchval(
        f"select quote_literal(($1::{kind})::text)", value
    )
    return "null" if quoted is None else quoted
