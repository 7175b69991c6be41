"""`make fuzz`: schemathesis against a real server, on a database that is thrown away afterwards.

    make fuzz
    make fuzz ARGS="--max-examples 600"
    make fuzz ARGS="--max-examples 50 --role viewer"

What is not known here goes to schemathesis as it is. The status is that of schemathesis: 1 if an
answer was a 5xx, or not what the document of the server says.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from mainspring.bench.place import opened_place
from mainspring.bench.settings import Settings
from mainspring.domain.lanes import SlotKind
from mainspring.domain.roles import Role
from mainspring.domain.specs import DagSpec, TaskSpec
from mainspring.schedule.parsing import schedule_from
from mainspring.store.connection import Connection
from mainspring.store.dags import register_dag
from mainspring.store.schedule_changes import Intent, create_schedule
from mainspring.store.tokens import create_token, new_secret
from tests.support.factory import BareWorker, failure, start_run
from tests.support.job_stage import JobStage, command
from tests.support.team import Team

CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
)
"""What an answer has to be. Whether a token would have been needed is tests/contract's business."""

SALES = DagSpec(
    name="daily_sales",
    tasks=(
        TaskSpec(name="extract", entry="sales:extract", kind=SlotKind.ASYNC),
        TaskSpec(name="load", entry="sales:load", kind=SlotKind.ASYNC),
    ),
    edges=((0, 1),),
)


async def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="make fuzz", add_help=False)
    parser.add_argument("--role", choices=[*Role, "none"], default=Role.ADMIN)
    given, others = parser.parse_known_args(arguments)
    async with opened_place(Settings()) as place:
        await place.prepare()
        with tempfile.TemporaryDirectory() as folder:
            async with (
                Team(place.url, Path(folder)) as team,
                asking(team, given.role) as (base, headers),
            ):
                return await fuzz(base, headers, others)


@asynccontextmanager
async def asking(team: Team, role: str) -> AsyncIterator[tuple[str, list[str]]]:
    """Where the server is, and what schemathesis has to send along."""
    await fill(team.connection)
    headers = []
    if role != "none":
        secret = new_secret()
        queues = ["default"] if role == Role.WORKER else []
        await create_token(team.connection, secret, name="fuzz", role=Role(role), queues=queues)
        headers = ["--header", f"Authorization: Bearer {secret}"]
    team.start_server()

    async def address() -> str | None:
        _, found, rest = team.log().partition("http://127.0.0.1:")
        return f"http://127.0.0.1:{int(rest.split()[0].strip(chr(34) + ',}'))}" if found else None

    yield await team.until(address), headers


async def fill(connection: Connection) -> None:
    """Something of everything, so that not all that is asked for is missing."""
    dag = await register_dag(connection, SALES, "snapshot")
    worker = await BareWorker.join(connection, SALES)
    for outcome in (None, failure("connection refused")):
        await start_run(connection, dag, 2)
        while claimed := await worker.claim():
            for each in claimed:
                await worker.end(each, outcome)
    intent = Intent("nightly_sales", "daily_sales", schedule_from("0 1 * * *"))
    await create_schedule(connection, intent, by="ada")
    await JobStage(connection).make(command("tidy", schedule=schedule_from("0 3 * * *")))


async def fuzz(base: str, headers: list[str], others: list[str]) -> int:
    process = await asyncio.to_thread(
        subprocess.run,
        [
            *(str(Path(sys.executable).parent / "schemathesis"), "run"),
            f"{base}/api/v1/openapi.json",
            *headers,
            *("--checks", ",".join(CHECKS), "--request-timeout", "30", "--continue-on-failure"),
            *("--generation-database", "none", "--no-shrink"),
            *others,
        ],
        check=False,
    )
    return process.returncode


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1:])))
