"""Migration files: how they are named, ordered and told apart."""

from __future__ import annotations

from mainspring.store.migrate import CODE_LEVEL, migrations


def test_numbers_have_no_gaps_and_each_has_a_first_half() -> None:
    befores = [migration.number for migration in migrations() if migration.half == "before"]
    assert befores == list(range(1, CODE_LEVEL + 1))


def test_a_second_half_follows_its_first() -> None:
    keys = [(migration.number, migration.half == "after") for migration in migrations()]
    assert keys == sorted(keys)
    assert len(keys) == len(set(keys))


def test_no_migration_demands_code_that_does_not_exist_yet() -> None:
    assert all(migration.min_code <= CODE_LEVEL for migration in migrations())


def test_the_checksum_is_of_the_text() -> None:
    first = migrations()[0]
    assert first.checksum == first._replace(name="other").checksum
    assert first.checksum != first._replace(text=first.text + " ").checksum
