"""`make fuzz`: schemathesis against a real server, on a database that is thrown away afterwards.

    make fuzz
    make fuzz ARGS="--requests 50000"
    make fuzz ARGS="--phases fuzzing --max-examples 50 --role viewer"

Beside the server runs an engine, and a keeper (`stage.py`) that sees to it that there is something
to be asked for; `hooks.py` puts that into the requests. With `--requests` schemathesis is started
again, each time with the next seed, until so many requests have been made; with `--parallel` there
are several of it at once. `--reasons` tells why requests were refused. What is not known here goes
to schemathesis as it is.

The status is 1 if an answer was a 5xx, or not what the document of the server says; if there was
none; or if the server or the engine logged an error. What schemathesis found is printed then.
How deep the requests went is seen in the table of what each operation answered, and in the list of
those that refused all they were asked. The last line sums up.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from mainspring.bench.place import opened_place
from mainspring.bench.settings import Settings
from mainspring.client import Client
from mainspring.domain.roles import Role
from mainspring.store.tokens import create_token, new_secret
from tests.fuzz.stage import Keeper
from tests.fuzz.tally import Tally, tally_file
from tests.support.team import Team

CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
)
"""What an answer has to be. Whether a token would have been needed is tests/contract's business."""


PATIENCE = "120"
"""Seconds after which a request hangs; on a machine that is busy elsewhere, bulk ones take 30."""


class Found(msgspec.Struct):
    tally: Tally
    rounds: int = 0
    failed: list[str] = []
    """What schemathesis printed, of each round that found something."""
    logged: list[str] = []
    """Errors in the log of the processes."""
    memory_mib: tuple[float, float] = (0.0, 0.0)
    """Of the server: after the first round, and at the end."""


async def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="make fuzz", add_help=False)
    parser.add_argument("--role", choices=[*Role, "none"])
    parser.add_argument("--requests", type=int, default=1)
    parser.add_argument("--parallel", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--reasons", action="store_true", help="say why requests were refused")
    given, others = parser.parse_known_args(arguments)
    began = time.monotonic()
    found = Found(Tally())
    async with opened_place(Settings()) as place:
        await place.prepare()
        # When it ends, the team prints the log of its processes.
        with (
            tempfile.TemporaryDirectory() as folder,
            contextlib.redirect_stdout(io.StringIO()),
        ):
            async with Team(place.url, Path(folder), lease_seconds=15) as team:
                await fuzz_until(team, Path(folder), given, others, found)
    if given.reasons:
        print(*found.tally.reasons(), sep="\n")
    return tell(found, time.monotonic() - began)


async def fuzz_until(
    team: Team, place: Path, given: argparse.Namespace, others: list[str], found: Found
) -> None:
    async with asking(team, place, given.role) as (base, tokens):
        while found.tally.requests < given.requests:
            first = given.seed + found.rounds
            seeds = range(first, first + given.parallel)
            ends = await asyncio.gather(
                *(fuzz(base, tokens, place, seed, others) for seed in seeds)
            )
            found.rounds += given.parallel
            for tally, status, said in ends:
                found.tally.add(tally)
                if status:
                    found.failed.append(said)
            before = found.memory_mib[0] or memory_mib(team)
            found.memory_mib = (before, memory_mib(team))
            print(f"{found.tally.requests:,} requests so far", file=sys.stderr)
        found.logged += errors_in(team.log())


@asynccontextmanager
async def asking(
    team: Team, place: Path, role: str | None
) -> AsyncIterator[tuple[str, dict[str, str]]]:
    """Where the server is, and the token for each role."""
    tokens = {each.value: new_secret() for each in Role}
    for each, secret in tokens.items():
        queues = ["default"] if each == Role.WORKER else []
        name = f"fuzz-{each}"
        await create_token(team.connection, secret, name=name, role=Role(each), queues=queues)
    if role is not None:
        tokens = {"": tokens.get(role, "none")}
    async with Client(team.url) as client:
        keeper = Keeper(team.connection, client, place / "things.json")
        await keeper.begin()
        team.start_server()

        async def address() -> str | None:
            _, found, rest = team.log().partition("http://127.0.0.1:")
            return (
                f"http://127.0.0.1:{int(rest.split()[0].strip(chr(34) + ',}'))}" if found else None
            )

        base = await team.until(address)
        team.start_engine()
        keeping = asyncio.create_task(keeper.run())
        try:
            yield base, tokens
            assert not keeping.done(), keeping.result()
        finally:
            keeping.cancel()


async def fuzz(
    base: str, tokens: dict[str, str], place: Path, seed: int, others: list[str]
) -> tuple[Tally, int, str]:
    """What it counted, its status, and what it said."""
    process = await asyncio.to_thread(
        subprocess.run,
        [
            *(str(Path(sys.executable).parent / "schemathesis"), "--no-color", "run"),
            f"{base}/api/v1/openapi.json",
            *("--checks", ",".join(CHECKS), "--request-timeout", PATIENCE, "--continue-on-failure"),
            *("--generation-database", "none", "--no-shrink", "--seed", str(seed)),
            *("--generation-with-security-parameters", "false", "--warnings", "off"),
            *others,
        ],
        env={
            **os.environ,
            "SCHEMATHESIS_HOOKS": "tests.fuzz.hooks",
            "FUZZ_PLACE": str(place),
            "FUZZ_TOKENS": json.dumps(tokens),
            "FUZZ_SEED": str(seed),
        },
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    counted = tally_file(place, seed).read_bytes()
    return msgspec.json.decode(counted, type=Tally), process.returncode, process.stdout


def memory_mib(team: Team) -> float:
    """What the server's process holds; it was the first to be started."""
    pages = int(Path(f"/proc/{team._processes[0].pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def errors_in(log: str) -> list[str]:
    return [
        line
        for line in log.splitlines()
        if line.startswith(("Traceback", "Task exception")) or '"level": "error"' in line
    ]


def tell(found: Found, seconds: float) -> int:
    for said in found.failed:
        print(said)
    for line in found.logged[:20]:
        print(line)
    for line in found.tally.lines():
        print(line)
    for operation in found.tally.shallow:
        print(f"refused all that it was asked: {operation}")
    bad = bool(found.failed or found.logged)
    before, after = found.memory_mib
    print(
        f"fuzz: {found.tally.requests:,} requests to {len(found.tally.answers)} operations in"
        f" {seconds:.0f} s; the server took {before:.0f} MiB, then {after:.0f};"
        f" {'something was found' if bad else 'nothing was found'}"
    )
    return int(bad)


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1:])))
