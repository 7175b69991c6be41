"""The generated pages hold everything there is, and say something of each."""

from __future__ import annotations

import doctest
import importlib
import re
from collections.abc import Iterator

import click
import pytest

from mainspring.cli.root import root
from mainspring.config import VARIABLES
from tests.docs.test_documents import ROOT, SOURCE
from tools.generators import commands_page, python_page

NAMES = [(module, name) for module in python_page.MODULES for name in python_page.names_of(module)]


@pytest.mark.parametrize(("module", "name"), NAMES)
def test_every_public_name_has_a_docstring_and_its_examples_are_right(
    module: str, name: str
) -> None:
    found = getattr(importlib.import_module(module), name)
    assert found.__doc__, f"`{module}.{name}` says nothing of itself"
    defined = importlib.import_module(found.__module__)
    for test in doctest.DocTestFinder(recurse=False).find(found, name, module=defined):
        # Where nothing is expected, the example shows what stands inside a dag's function.
        test.examples = [example for example in test.examples if example.want]
        told: list[str] = []
        failed, _ = doctest.DocTestRunner().run(test, out=told.append)
        assert not failed, "".join(told)


def test_every_command_is_on_the_page_with_its_options() -> None:
    page = commands_page.render()
    for context in commands(root, click.Context(root, info_name="mainspring")):
        path = re.escape(context.command_path)
        section = re.search(rf"(?ms)^## `{path}`$(.*?)(?=^## |\Z)", page)
        assert section is not None, context.command_path
        for parameter in context.command.params:
            shown = (
                parameter.make_metavar(context)
                if parameter.param_type_name == "argument"
                else (parameter.opts[-1])
            )
            assert shown in section[1], (context.command_path, shown)


def commands(group: click.Group, context: click.Context) -> Iterator[click.Context]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        own = click.Context(command, info_name=name, parent=context)
        if isinstance(command, click.Group):
            yield from commands(command, own)
        else:
            yield own


def test_every_setting_that_is_read_is_in_the_table() -> None:
    source = (SOURCE / "config.py").read_text(encoding="utf-8")
    assert set(re.findall(r'_read\(environ, "([A-Z_]+)"', source)) == set(VARIABLES)


def test_every_generated_page_is_in_the_list_of_pages() -> None:
    listed = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    for path in (ROOT / "docs" / "reference").iterdir():
        assert f"(reference/{path.name})" in listed, path.name
