"""Plug-ins are found by metadata alone, loaded by name, and fail alone."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path

import pytest

import mainspring.operators
from mainspring import DefinitionError, task
from mainspring.domain.errors import PluginError
from mainspring.domain.lanes import SlotKind
from mainspring.operators.commands import command
from mainspring.plugins import Kind, find_plugin, find_plugins, found, load_plugin, loading
from tests.support.packages import install


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on the path; what was found before the test, and in it, is forgotten."""
    monkeypatch.syspath_prepend(tmp_path)
    forget()
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]
    forget()


def forget() -> None:
    found.find_plugins.cache_clear()
    found._declared.cache_clear()
    loading.load_plugin_named.cache_clear()
    importlib.invalidate_caches()


def names(kind: Kind) -> list[str]:
    return [plugin.name for plugin in find_plugins(kind) if not plugin.problem]


def problem(kind: Kind, name: str, package: str) -> str:
    [plugin] = [p for p in find_plugins(kind) if (p.name, p.package) == (name, package)]
    with pytest.raises(PluginError) as raised:
        load_plugin(plugin)
    assert name in raised.value.message
    assert package in raised.value.message
    return raised.value.message


def test_every_slot_kind_has_an_executor_of_ours_which_takes_its_slots() -> None:
    ours = {p.name: load_plugin(p) for p in find_plugins(Kind.EXECUTOR) if p.ours}
    assert {name: executor.slot_kind for name, executor in ours.items()} == {
        kind.value: kind for kind in SlotKind
    }


def test_the_ready_made_tasks_come_through_the_same_door() -> None:
    assert mainspring.operators.command is command
    assert {p.name for p in find_plugins(Kind.OPERATOR) if p.ours} == set(
        mainspring.operators.__all__
    )
    declared = entry_points(group="mainspring.operators", name="command")
    assert [entry.value for entry in declared] == ["mainspring.operators.commands:command"]


def test_an_operator_of_another_package_is_imported_like_ours(packages: Path) -> None:
    install(
        packages,
        "acme-mail",
        """
        [mainspring.operators]
        send_mail = acme_mail:draw
        """,
        acme_mail="def draw(): return 'drawn'",
    )
    assert "acme_mail" not in sys.modules
    assert find_plugin(Kind.OPERATOR, "send_mail").told == (
        "operator `send_mail` of package `acme-mail` 1.0"
    )
    assert "acme_mail" not in sys.modules
    module = importlib.import_module("mainspring.operators")
    assert module.send_mail() == "drawn"
    del vars(module)["send_mail"]


def test_a_task_takes_the_slots_that_its_executor_says(packages: Path) -> None:
    install(
        packages,
        "acme-run",
        """
        [mainspring.executors]
        remote = acme_run:Remote
        """,
        acme_run="""
        from mainspring.executors.host_async import AsyncHost
        class Remote(AsyncHost): ...
        """,
    )

    @task(executor="remote")
    def work() -> None: ...

    assert (work.spec.kind, work.spec.executor) == (SlotKind.ASYNC, "remote")

    @task(executor="thread")
    def near() -> None: ...

    assert (near.spec.kind, near.spec.executor) == (SlotKind.THREAD, "")


def test_an_executor_that_is_not_installed_is_refused_when_the_dag_is_read() -> None:
    with pytest.raises(DefinitionError, match=r"`executor`: expected one of .*`process`"):
        task(executor="remote")(test_the_ready_made_tasks_come_through_the_same_door)


def test_a_plugin_that_cannot_be_imported_fails_alone(packages: Path) -> None:
    install(
        packages,
        "broken",
        """
        [mainspring.operators]
        raising = broken_raising:draw
        leaving = broken_leaving:draw
        missing = broken_nowhere:draw
        nameless = broken_sound:nothing
        sound = broken_sound:draw
        """,
        broken_raising="raise RuntimeError('no licence')",
        broken_leaving="import sys; sys.exit(3)",
        broken_sound="def draw(): ...",
    )
    assert problem(Kind.OPERATOR, "raising", "broken").endswith(
        "cannot be loaded from `broken_raising:draw`: RuntimeError: no licence"
    )
    assert "SystemExit: 3" in problem(Kind.OPERATOR, "leaving", "broken")
    assert "No module named 'broken_nowhere'" in problem(Kind.OPERATOR, "missing", "broken")
    assert "has no attribute 'nothing'" in problem(Kind.OPERATOR, "nameless", "broken")
    assert callable(load_plugin(find_plugin(Kind.OPERATOR, "sound")))
    assert load_plugin(find_plugin(Kind.OPERATOR, "command")) is command


def test_a_plugin_of_the_wrong_shape_says_what_is_missing(packages: Path) -> None:
    install(
        packages,
        "odd",
        """
        [mainspring.executors]
        mute = odd:Mute
        kindless = odd:Kindless
        nothing = odd:NOTHING
        [mainspring.operators]
        number = odd:NOTHING
        drawer = odd:Mute
        [mainspring.object_stores]
        odd = odd:Mute
        """,
        odd="""
        NOTHING = 42
        class Mute: slot_kind = "async"
        class Kindless:
            slot_kind = "gpu"
            def serve(self): ...
        """,
    )
    assert "has no method `serve`" in problem(Kind.EXECUTOR, "mute", "odd")
    assert "`slot_kind` 'gpu', expected one of `async`" in problem(Kind.EXECUTOR, "kindless", "odd")
    assert "is `int`, expected a class" in problem(Kind.EXECUTOR, "nothing", "odd")
    assert "is `int`, expected a function" in problem(Kind.OPERATOR, "number", "odd")
    assert "lacks `put`, `get` and `delete`" in problem(Kind.OBJECT_STORE, "odd", "odd")
    assert "is `a class`, expected a function" in problem(Kind.OPERATOR, "drawer", "odd")


def test_a_name_that_two_packages_take_is_neithers(packages: Path) -> None:
    for name in ("left", "right"):
        install(
            packages,
            name,
            f"""
            [mainspring.operators]
            mail = {name}_module:draw
            {name} = {name}_module:draw
            """,
            **{f"{name}_module": "def draw(): ..."},
        )
    assert problem(Kind.OPERATOR, "mail", "left").endswith(
        "is not used, since `right` declares that name too"
    )
    with pytest.raises(PluginError, match=r"operator `mail` of package `left` 1.0 is not used"):
        find_plugin(Kind.OPERATOR, "mail")
    assert {"left", "right"} <= set(names(Kind.OPERATOR))


def test_nobody_takes_the_place_of_our_own(packages: Path) -> None:
    install(
        packages,
        "usurper",
        """
        [mainspring.executors]
        process = usurper:Host
        """,
    )
    assert "has the name of one of Mainspring's own" in problem(Kind.EXECUTOR, "process", "usurper")
    assert find_plugin(Kind.EXECUTOR, "process").ours


def test_broken_metadata_of_one_package_hides_no_other(packages: Path) -> None:
    install(packages, "garbled", "[mainspring.operators]\nthis is no entry point\n")
    install(packages, "unrelated", "[console_scripts]\nnor is this\n")
    install(packages, "sound", "[mainspring.operators]\nfine = sound:draw\n")
    assert "entry points cannot be read" in problem(Kind.OPERATOR, "?", "garbled")
    assert "fine" in names(Kind.OPERATOR)


def test_a_name_that_cannot_be_typed_is_refused(packages: Path) -> None:
    install(packages, "spaced", "[mainspring.operators]\nsend mail = spaced:draw\n")
    assert "may only hold letters" in problem(Kind.OPERATOR, "send mail", "spaced")


def test_a_package_that_lies_on_the_path_twice_counts_once(
    packages: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder, version in (("new", "2.0"), ("old", "1.0")):
        install(
            packages / folder, "twice", "[mainspring.operators]\nmail = t:draw\n", version=version
        )
    monkeypatch.syspath_prepend(packages / "old")
    monkeypatch.syspath_prepend(packages / "new")
    assert find_plugin(Kind.OPERATOR, "mail").version == "2.0"


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(PluginError, match="there is no executor `proces`") as raised:
        find_plugin(Kind.EXECUTOR, "proces")
    assert raised.value.hint.startswith("did you mean `process`?")
    with pytest.raises(ImportError, match="cannot import name 'htttp'"):
        exec("from mainspring.operators import htttp", {})


def test_a_host_starts_without_reading_the_metadata_of_all_packages() -> None:
    script = "import sys, mainspring.executors.host; print('importlib.metadata' in sys.modules)"
    told = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert told.stdout == "False\n"
