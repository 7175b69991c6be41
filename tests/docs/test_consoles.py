"""What pages show of a terminal is typed, against a real engine and a real worker.

A line is run beside the dags of its page, after what its words take for granted has been brought
about: `run cancel last` needs a run that waits, `dlq` one that failed, most others one that has
ended. Numbers of runs and groups of errors are those that there are. It has to end with 0, and
where the page shows what `COMPARED` commands answer, that has to be the answer, numbers and lengths
of time aside. Lines that start what goes on for ever, or need what a test has not, are in
`NOT_RUN`, with the test that does the same; all others are run, or this fails.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest

from tests.docs.test_documents import DOCUMENTS, ROOT, Block, blocks_of
from tests.support.launcher import Launcher
from tests.support.team import Team

NOT_RUN = {
    r"git clone ": "a clone of this repository",
    r"make ": "what runs these tests, or runs them all",
    r"source ": "of a shell",
    r"export ": "of a shell",
    r"python -m tests\.fault": "tests/fault, by hand",
    r"mainspring up\b": "goes on; tests/integration/embedded and the tutorial's test",
    r"mainspring engine\b": "goes on; every `Team`",
    r"mainspring worker\b(?! list)": "goes on; every `Team`",
    r"mainspring server\b": "goes on; tests/contract/test_process.py",
    r"mainspring bench\b": "minutes; tests/integration/bench",
}
COMPARED = (
    "dag test",
    "dag diff",
    "plugins list",
    "schedule diff",
    "schedule preview",
    "backfill create",
    "calendar put",
)
ORDERS = ROOT / "docs" / "guides" / "first-dag.md"
CODE = ROOT / "docs" / "guides" / "code.md"
LOGS = ROOT / "docs" / "guides" / "logs.md"


class Line(NamedTuple):
    typed: str
    shown: list[str]
    """What the page says that it prints."""

    @property
    def not_run(self) -> str | None:
        return next((why for line, why in NOT_RUN.items() if re.match(line, self.typed)), None)


def lines_of(document: Path) -> list[Line]:
    lines: list[Line] = []
    for block in blocks_of(document):
        if block.language not in ("console", "sh"):
            continue
        for text in block.text.splitlines():
            if text.startswith("$ ") or block.language == "sh":
                lines.append(Line(text.removeprefix("$ "), []))
            elif text.strip():
                lines[-1].shown.append(text)
    return lines


PAGES = [page for page in DOCUMENTS if any(line.not_run is None for line in lines_of(page))]


def test_only_commands_of_ours_are_shown() -> None:
    for page in DOCUMENTS:
        for line in lines_of(page):
            assert line.not_run or line.typed.startswith("mainspring "), (page.name, line.typed)


def test_each_reason_not_to_run_a_line_is_needed() -> None:
    typed = [line.typed for page in DOCUMENTS for line in lines_of(page)]
    for pattern in NOT_RUN:
        assert any(re.match(pattern, line) for line in typed), pattern


class Person:
    """Somebody who types what a page shows, in a folder with the dags that it shows."""

    def __init__(self, team: Team, launcher: Launcher, folder: Path, page: Path) -> None:
        self._team = team
        self._launcher = launcher
        self._folder = folder
        self._page = page

    async def settle(self) -> None:
        """Write the dags of the page, and the two that pages take for granted."""
        blocks = [block for block in blocks_of(self._page) if block.mark == "dag"]
        if not any("def orders(" in block.text for block in blocks):
            blocks += [b for b in blocks_of(ORDERS) if b.mark == "dag" and "def orders(" in b.text]
        self._team.start_engine()
        self._team.start_worker()
        if self._page == CODE:
            await self._write_versions()
        elif self._page == LOGS:
            self._write("orders", FLAKY)
        else:
            for block in blocks:
                self._write(dag_in(block), block.text)
        for block in blocks_of(self._page):
            if block.mark == "crontab":
                (self._folder / "crontab.txt").write_text(block.text, encoding="utf-8")
        shutil.copy(ROOT / "examples" / "daily_sales.py", self._team.dags)
        self._write("newsletter", NEWSLETTER)
        self._write("deliveries", DELIVERIES)
        for file in sorted(self._team.dags.glob("*.py")):
            await self._team.known(file.stem)
            if "schedule=" in file.read_text(encoding="utf-8"):
                await self._team.scheduled(file.stem)

    async def _write_versions(self) -> None:
        """The history of `orders` that the page tells."""
        for number, text in enumerate((ORDERS_1, ORDERS_2, ORDERS_3), 1):
            self._write("orders", text)

            async def read(number: int = number) -> bool:
                return bool(
                    await self._team.rows(
                        "select 1 from mainspring.version v"
                        " join mainspring.dag d on d.id = v.dag_id"
                        " where d.name = 'orders' and v.number = $1",
                        number,
                    )
                )

            await self._team.until(read)

    def _write(self, name: str, text: str) -> None:
        quick = text.replace("time.sleep(5)", "time.sleep(0.1)")
        (self._team.dags / f"{name}.py").write_text(quick, encoding="utf-8")

    async def types(self, line: Line) -> None:
        await self._prepare(line.typed)
        typed = await self._as_it_is(line.typed)
        code, told = await self._run(*shlex.split(typed, comments=True)[1:])
        assert code == 0, f"`{line.typed}` ended with {code}:\n{told}"
        if any(line.typed.startswith(f"mainspring {command}") for command in COMPARED):
            answered = {normal(text) for text in told.splitlines()}
            for text in line.shown:
                if "third-party" not in text:  # tests/integration/plugins installs such a one
                    assert normal(text) in answered, f"`{line.typed}` did not say {text!r}:\n{told}"

    async def _prepare(self, typed: str) -> None:
        if typed.startswith("mainspring dlq"):
            await self._fail()
        if not re.match(r"mainspring run \w+ last", typed):
            return
        dag = "daily_sales" if re.search(" (report|extract_)", typed) else "orders"
        if self._page.name == "bill.md":
            dag = "bill"
        if (
            re.match(r"mainspring run (cancel|rerun|mark|priority)", typed)
            and "--from" not in typed
        ):
            await self._does("dag", "trigger", dag, "--in", "10m")
            if "rerun" in typed:
                await self._does("run", "cancel", "last")
        else:
            await self._does("dag", "trigger", dag, "--wait")

    async def _fail(self) -> None:
        """There is a dead letter."""
        if not await self._team.rows("select 1 from mainspring.problem where discarded_at is null"):
            code, told = await self._run("dag", "trigger", "deliveries", "--wait")
            assert code == 1, told

    async def _as_it_is(self, typed: str) -> str:
        """With numbers of runs, and a group of errors, that there are."""
        runs = await self._team.rows("select id from mainspring.run_view order by id desc limit 2")
        for number, run in zip(
            sorted(set(re.findall(r"\b\d{4}\b(?!-)", typed))), runs, strict=False
        ):
            typed = typed.replace(number, str(run["id"]))
        if re.search(r" e-[0-9a-f]{8}", typed):
            _, told = await self._run("dlq", "list", "--json")
            typed = re.sub(r" e-[0-9a-f]{8}", f" {msgspec.json.decode(told)[0]['id']}", typed)
        return typed

    async def _does(self, *arguments: str) -> None:
        code, told = await self._run(*arguments)
        assert code == 0, told

    async def _run(self, *arguments: str) -> tuple[int, str]:
        environment = {
            **os.environ,
            "MAINSPRING_DATABASE_URL": self._team.url,
            "COLUMNS": "200",
        }
        return await self._launcher.run(arguments, environment, self._folder)


def dag_in(block: Block) -> str:
    [name] = re.findall(r"^@dag.*?\ndef (\w+)", block.text, re.MULTILINE | re.DOTALL)
    return str(name)


def normal(text: str) -> str:
    """Without what differs from run to run: numbers, lengths of time, widths of columns."""
    return re.sub(r"[\d.]+( ?(ms|s|min|h|d)\b)?", "#", " ".join(text.split()))


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
async def test_what_is_typed_on_a_page_works(
    page: Path, database_url: str, tmp_path: Path, launcher: Launcher
) -> None:
    async with Team(database_url, tmp_path, launcher) as team:
        person = Person(team, launcher, tmp_path, page)
        await person.settle()
        for line in lines_of(page):
            if line.not_run is None:
                await person.types(line)


ORDERS_1 = """\
from mainspring import dag, task

@task
def download(day: str) -> list[int]:
    return [1, 2]

@task
def add_up(orders: list[int]) -> int:
    return sum(orders)

@task
def store(total: int) -> None: ...

@dag
def orders(day: str = "today"):
    store(add_up(download(day)))
"""
DELIVERIES = ORDERS_1.replace("def orders(", "def deliveries(").replace(
    "return sum(orders)", "raise ConnectionError('no route to `mill`')"
)
FLAKY = ORDERS_1.replace(
    "@task\ndef add_up(orders: list[int]) -> int:\n",
    "@task(retry=RetryPolicy(attempts=2, first='0.01s'))\n"
    "def add_up(orders: list[int]) -> int:\n"
    "    if context().attempt == 1:\n"
    "        raise ConnectionError('no route')\n"
    "    print('there')\n",
).replace("import dag, task", "import RetryPolicy, context, dag, task")
NEWSLETTER = """\
from mainspring import dag, task

@task(queue="mail")
def send() -> None: ...

@dag
def newsletter():
    send()
"""
ORDERS_2 = ORDERS_1.replace(
    "    store(add_up(download(day)))",
    "    total = add_up(download(day))\n    store(total)\n    announce(total)",
).replace("@dag", "@task\ndef announce(total: int) -> None: ...\n\n@dag")
ORDERS_3 = ORDERS_2.replace(
    "@task\ndef download", '@task(queue="io", retries=2)\ndef download'
).replace('day: str = "today"', 'day: str = "today", region: str = "eu"')
