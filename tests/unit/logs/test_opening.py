"""URLs of object stores that cannot be."""

from __future__ import annotations

from pathlib import Path

import pytest

from mainspring.config import Config, load_config
from mainspring.domain.errors import InputError
from mainspring.logs.places import HOME, Places, check_place
from mainspring.objects import from_url
from mainspring.objects.folder import Folder


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("s4://bucket", "no object store for `s4://bucket`"),
        ("/just/a/path", "no object store for"),
        ("s3://", "names no bucket"),
        ("file://host/path", "names no folder"),
        ("file:relative", "names no folder"),
        ("s3://[bucket", "cannot be understood"),
    ],
)
def test_a_url_that_names_no_store_is_refused_with_a_hint(url: str, words: str) -> None:
    with pytest.raises(InputError, match=words.replace("/", "/")) as raised:
        from_url(url)
    assert raised.value.hint


@pytest.mark.parametrize(
    "url", ["s3://key:hunter2@bucket/prefix", "az://account/box?sig=hunter2", "s3://b/p#hunter2"]
)
def test_a_url_with_a_secret_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(InputError) as raised:
        check_place(url)
    assert "hunter2" not in f"{raised.value} {raised.value.hint}"


def test_the_folder_in_the_home_goes_with_the_home(tmp_path: Path) -> None:
    check_place(HOME)
    check_place(None)
    assert isinstance(Places(tmp_path).store(HOME), Folder)


def test_logs_move_to_the_home_of_an_embedded_database_and_else_where_one_says() -> None:
    assert Config(home=Path("h")).object_store == HOME
    assert Config(home=Path("h"), database_url="postgresql://").object_store is None
    given = load_config({"MAINSPRING_OBJECTS": "s3://logs", "MAINSPRING_DATABASE_URL": "x"})
    assert given.object_store == "s3://logs"
