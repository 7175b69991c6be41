"""The configuration is a function of the machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from mainspring.embedded import logs
from mainspring.embedded.configuration import Machine, Places, server_configuration, user_map

GB = 1 << 30
PLACES = Places(Path("/h/hba"), Path("/h/ident"), Path("/h/socket"), Path("/h/it's a log"))


@pytest.mark.parametrize(
    ("memory_gb", "disk_gb", "expected"),
    [
        (0.25, 5, "shared_buffers = '128MB' max_wal_size = '4GB'"),
        (8, 40, "shared_buffers = '1024MB' max_wal_size = '4GB'"),
        (256, 900, "shared_buffers = '2048MB' max_wal_size = '8GB'"),
    ],
)
def test_sizes_follow_the_machine_within_bounds(
    memory_gb: float, disk_gb: int, expected: str
) -> None:
    text = server_configuration(PLACES, Machine(int(memory_gb * GB), disk_gb * GB), {})
    lines = text.splitlines()
    names = ("shared_buffers", "max_wal_size")
    assert " ".join(line for line in lines if line.startswith(names)) == expected


def test_values_are_quoted() -> None:
    text = server_configuration(PLACES, Machine(GB, GB), {"search_path": "a\\b'c\nd"})
    assert "log_directory = '/h/it''s a log'" in text
    assert "search_path = 'a\\\\b''c\\nd'" in text


def test_an_operating_system_user_with_odd_signs_is_quoted() -> None:
    assert 'mainspring "DOMAIN user""x" postgres' in user_map('DOMAIN user"x')


def test_only_the_newest_log_files_are_kept(tmp_path: Path) -> None:
    for day in range(10, 20):
        (tmp_path / f"postgresql-2026-01-{day}-000000.log").touch()
    (tmp_path / "notes").touch()
    logs.prune(tmp_path, files_max=3)
    assert sorted(entry.name[:21] for entry in tmp_path.iterdir()) == [
        "notes",
        "postgresql-2026-01-17",
        "postgresql-2026-01-18",
        "postgresql-2026-01-19",
    ]
