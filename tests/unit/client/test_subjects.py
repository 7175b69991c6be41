"""What `enqueue` is given, checked without a database."""

from __future__ import annotations

import pytest

from mainspring import InputError, task
from mainspring.client.subjects import check_keys, define, definition_of, given_parameters


@task
def plain(number: int, text: str = "") -> None: ...


@task
def tricky(connection: str, parameters: str = "") -> None: ...


def test_a_definition_is_made_once() -> None:
    assert definition_of(plain) is definition_of(plain)
    assert definition_of(plain).digest == plain.as_dag().digest()
    assert definition_of(plain).ambiguous == ()
    assert definition_of(tricky).ambiguous == ("connection", "parameters")


def test_parameters_come_by_name_or_as_a_mapping_but_not_both() -> None:
    definition = definition_of(plain)
    assert given_parameters(definition, None, {"number": 1}, True) == {"number": 1}
    assert given_parameters(definition, {"number": 1}, {}, True) == {"number": 1}
    with pytest.raises(InputError, match="given twice"):
        given_parameters(definition, {"number": 1}, {"text": ""}, False)


def test_an_option_that_might_be_a_parameter_is_not_guessed() -> None:
    definition = definition_of(tricky)
    mapping = {"connection": "wire"}
    assert given_parameters(definition, mapping, {}, True) == mapping
    with pytest.raises(InputError, match="`connection` and `parameters`"):
        given_parameters(definition, None, {}, True)


def test_defaults_are_part_of_what_is_stored() -> None:
    assert definition_of(plain).check.encode({"number": 1}) == b'{"number":1,"text":""}'
    assert define(plain.as_dag()).check.encode({"text": "a", "number": 1}) == (
        b'{"number":1,"text":"a"}'
    )


def test_keys_are_as_many_as_runs() -> None:
    assert check_keys(None, 2) == [None, None]
    assert check_keys(["a", "b"], 2) == ["a", "b"]
    for wrong in (["a"], "ab", ["a", ""]):
        with pytest.raises(InputError):
            check_keys(wrong, 2)
