"""What the documentation says is so: links, code blocks, command lines, settings, names."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import click
import pytest

from mainspring.bundles.read import read_bundle
from mainspring.cli.root import root
from mainspring.store.statements import STATEMENTS
from tests.support.launcher import Launcher

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "mainspring"
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
AUTHORS = [
    ROOT / "README.md",
    *sorted((ROOT / "docs" / "tutorial").glob("*.md")),
    *sorted((ROOT / "docs" / "guides").glob("*.md")),
]
"""Whose code blocks people paste."""

each_document = pytest.mark.parametrize(
    "document", [pytest.param(path, id=str(path.relative_to(ROOT))) for path in DOCUMENTS]
)


class Block(NamedTuple):
    """A fenced block: `python dag` has the language `python` and the mark `dag`."""

    language: str
    mark: str
    text: str
    place: str


_FENCED = re.compile(r"^```(\w*) *(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
_CODE = re.compile(r"`([^`\n]+)`")


def prose_of(document: Path) -> str:
    return _FENCED.sub("", document.read_text(encoding="utf-8"))


def blocks_of(document: Path) -> list[Block]:
    text = document.read_text(encoding="utf-8")
    blocks = []
    for found in _FENCED.finditer(text):
        line = text.count("\n", 0, found.start()) + 1
        blocks.append(Block(found[1], found[2], found[3], f"{document.name}:{line}"))
    return blocks


def python_blocks() -> list[Block]:
    blocks = [block for document in AUTHORS for block in blocks_of(document)]
    return [block for block in blocks if block.language == "python"]


# --- links --------------------------------------------------------------------------------


@each_document
def test_relative_links_lead_somewhere(document: Path) -> None:
    for link in _LINK.findall(prose_of(document)):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (document.parent / path).resolve() if path else document
        assert target.exists(), f"{link} leads nowhere"
        assert target.is_relative_to(ROOT), f"{link} leads out of the repository"
        if anchor:
            assert anchor in anchors_of(target), f"{link}: no such heading"


def anchors_of(document: Path) -> set[str]:
    headings = _HEADING.findall(prose_of(document))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_page_is_found_from_the_first_one() -> None:
    found: set[Path] = set()
    pending = [ROOT / "README.md"]
    while pending:
        document = pending.pop()
        if document in found:
            continue
        found.add(document)
        links = [link.partition("#")[0] for link in _LINK.findall(prose_of(document))]
        pages = [(document.parent / link).resolve() for link in links if link.endswith(".md")]
        pending += [page for page in pages if page.is_relative_to(ROOT)]
    assert set(DOCUMENTS) <= found


def test_pictures_load_nothing_from_elsewhere() -> None:
    for picture in (ROOT / "docs" / "images").glob("*.svg"):
        text = picture.read_text(encoding="utf-8")
        assert set(re.findall(r"https?://[^\"' )]+", text)) <= {"http://www.w3.org/2000/svg"}


# --- code ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "block",
    [block for block in python_blocks() if block.mark != "pytest"],
    ids=lambda block: block.place,
)
def test_python_blocks_run(block: Block) -> None:
    names: dict[str, Any] = {"__name__": "block"}
    exec(compile(block.text, block.place, "exec"), names)
    for name, value in list(names.items()):
        if name.startswith("test_"):
            value()


@pytest.mark.slow
def test_blocks_for_pytest_pass_beside_the_dags_of_their_page(tmp_path: Path) -> None:
    """A dag is in a file of its own name there."""
    for document in AUTHORS:
        blocks = [block for block in blocks_of(document) if block.language == "python"]
        tests = [block for block in blocks if block.mark == "pytest"]
        if not tests:
            continue
        folder = tmp_path / document.stem
        folder.mkdir()
        for block in blocks:
            if block.mark == "dag":
                [name] = re.findall(r"^@dag.*\ndef (\w+)", block.text, re.MULTILINE)
                (folder / f"{name}.py").write_text(block.text, encoding="utf-8")
        for number, block in enumerate(tests):
            (folder / f"test_block_{number}.py").write_text(block.text, encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(folder)]
        told = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        assert told.returncode == 0, told.stdout + told.stderr


@pytest.mark.slow
async def test_blocks_with_dags_are_read_without_a_problem_and_succeed(
    tmp_path: Path, launcher: Launcher
) -> None:
    blocks = [block for block in python_blocks() if block.mark == "dag"]
    together = tmp_path / "together"
    together.mkdir()
    for number, block in enumerate(blocks):
        (together / f"block_{number}.py").write_text(block.text, encoding="utf-8")
    report = await read_bundle(together)
    assert report.problems == []
    assert len(report.dags) == len(blocks) > 0

    async def run_alone(name: str) -> tuple[int, str]:
        """From a folder of its own: to read the others again for each would take longest."""
        folder = tmp_path / name
        folder.mkdir()
        shutil.copy(together / report.files[name], folder)
        return await launcher.run(("dag", "test", name, "--dags", str(folder)), os.environ)

    ends = await asyncio.gather(*(run_alone(dag.name) for dag in report.dags))
    assert [told for code, told in ends if code != 0] == []


# --- commands -----------------------------------------------------------------------------


def typed_commands(document: Path) -> Iterator[str]:
    """What stands behind `mainspring` in blocks that show a terminal."""
    for block in blocks_of(document):
        for line in block.text.splitlines():
            shown = line.removeprefix("$ ") if block.language == "console" else line
            prompted = block.language == "sh" or shown != line
            if prompted and shown.startswith("mainspring "):
                yield shown.removeprefix("mainspring ")


@each_document
def test_command_lines_can_be_typed(document: Path) -> None:
    for line in typed_commands(document):
        parse(line)


@each_document
def test_commands_in_prose_exist(document: Path) -> None:
    for code in _CODE.findall(prose_of(document)):
        if code.startswith("mainspring ") and "…" not in code:
            parse(code.removeprefix("mainspring "), whole=False)


def parse(line: str, *, whole: bool = True) -> None:
    """Find the command and its options, without running it; a `UsageError` says what is wrong.

    Not as a whole: an argument may be missing, as in "`mainspring run why` tells".
    """
    command: click.Command = root
    context = click.Context(root, info_name="mainspring")
    rest = shlex.split(line, comments=True)
    while isinstance(command, click.Group):
        _, rest, _ = command.make_parser(context).parse_args(rest)
        if not rest:
            return
        found = command.get_command(context, rest[0])
        assert found is not None, f"`mainspring {line}`: there is no `{rest[0]}`"
        command, rest = found, rest[1:]
        context = click.Context(command, info_name=command.name, parent=context)
    if whole:
        command.make_context(command.name, rest, parent=context.parent)
    else:
        command.make_parser(context).parse_args(rest)


@pytest.mark.parametrize("line", ["dag tigger hello", "run why", "run show last --jsn", "up now"])
def test_lines_that_cannot_be_typed_are_noticed(line: str) -> None:
    with pytest.raises((click.UsageError, AssertionError)):
        parse(line)


# --- settings, tables, names --------------------------------------------------------------


def test_every_environment_variable_is_documented_and_every_documented_one_exists() -> None:
    sources = "\n".join(path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py"))
    used = set(re.findall(r"MAINSPRING_[A-Z_]*[A-Z]", sources))
    used |= {f"MAINSPRING_{name}" for name in re.findall(r'_read\(environ, "([A-Z_]+)"', sources)}
    used -= {"MAINSPRING_X", "MAINSPRING_X_FILE"}  # stand for any, in a docstring
    guide = (ROOT / "docs" / "guides" / "operating.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"MAINSPRING_[A-Z_]*[A-Z]", guide))
    assert {name for name in used if not name.endswith("_FILE")} == {
        name for name in documented if not name.endswith("_FILE")
    }


def test_every_table_is_in_the_architecture() -> None:
    files = [*SOURCE.glob("store/migrations/*.sql"), SOURCE / "store" / "migrate.py"]
    made = re.compile(r"create table (?:if not exists )?mainspring\.(\w+)")
    tables = {name for file in files for name in made.findall(file.read_text(encoding="utf-8"))}
    assert len(tables) > 20
    told = set(_CODE.findall(prose_of(ROOT / "ARCHITECTURE.md")))
    assert tables <= told, tables - told


@each_document
def test_files_and_names_in_them_exist(document: Path) -> None:
    """`store/runs.py` and `store/runs.py: create_runs`, from the root or from the package."""
    place = re.compile(r"((?:[\w.-]+/)*[\w.-]+\.(?:py|sql|toml))(?:: ([\w.]+))?")
    for code in _CODE.findall(prose_of(document)):
        found = place.fullmatch(code)
        if found is None or ("/" not in found[1] and found[2] is None):
            continue
        files = [folder / found[1] for folder in (ROOT, SOURCE)]
        file = next((file for file in files if file.exists()), None)
        assert file is not None or found[1].startswith("dags/"), f"{code}: there is no such file"
        if file is not None and found[2] is not None:
            name = found[2].rpartition(".")[2]
            assert re.search(rf"\b{name}\b", file.read_text(encoding="utf-8")), code


@each_document
def test_tests_and_promises_that_are_named_exist(document: Path) -> None:
    sources = "\n".join(path.read_text(encoding="utf-8") for path in ROOT.glob("tests/**/*.py"))
    for code in _CODE.findall(prose_of(document)):
        if re.fullmatch(r"test_\w+", code):
            assert f"def {code}(" in sources, f"there is no test {code}"
        if re.fullmatch(r"[A-Z]\d_\w+", code):
            assert code in STATEMENTS, f"there is no promise {code}"


def test_the_folders_of_tests_are_those_that_exist() -> None:
    there = {path.name for path in (ROOT / "tests").iterdir() if any(path.glob("**/test_*.py"))}
    for document in ("ARCHITECTURE.md", "CONTRIBUTING.md"):
        rows = re.findall(r"^\| `tests/(\w+)", prose_of(ROOT / document), re.MULTILINE)
        assert set(rows) == there, document


def test_every_decision_is_in_the_list() -> None:
    folder = ROOT / "docs" / "decisions"
    listed = _LINK.findall(prose_of(folder / "README.md"))
    assert sorted(listed) == sorted(path.name for path in folder.glob("[0-9]*.md"))


def test_the_glossary_is_in_order_and_has_each_word_once() -> None:
    words = re.findall(r"^\| \*\*(.+?)\*\*", prose_of(ROOT / "GLOSSARY.md"), re.MULTILINE)
    assert words == sorted(set(words), key=str.lower)
