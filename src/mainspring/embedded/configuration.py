"""The server's three configuration files, as pure text.

They are written anew at each start, beside the data and not in them, by the supervisor: the server
can read but not change who may connect. Only peer authentication over a Unix socket exists, and its
map admits one operating system user, whoever runs Mainspring. No password, no TCP, no trust.

Durability is never traded: fsync, synchronous_commit and full_page_writes stay on. A caller's
`settings` come last and win, except for those that would open the server or lose it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mainspring.embedded.errors import EmbeddedError

PORT = 5432
PRODUCT_ROLE = "mainspring"
PRODUCT_DATABASE = "mainspring"
SUPERUSER = "postgres"

_MAP = "mainspring"
_MB = 1 << 20
_GB = 1 << 30
_OURS = frozenset(
    {
        "config_file",
        "data_directory",
        "hba_file",
        "ident_file",
        "listen_addresses",
        "port",
        "unix_socket_directories",
        "unix_socket_group",
        "unix_socket_permissions",
    }
)


@dataclass(frozen=True, slots=True)
class Places:
    hba: Path
    ident: Path
    socket: Path
    log: Path


@dataclass(frozen=True, slots=True)
class Machine:
    memory_bytes: int
    disk_free_bytes: int


def server_configuration(places: Places, machine: Machine, settings: Mapping[str, str]) -> str:
    check_settings(settings)
    values = _access(places) | _sizes(machine) | _BEHAVIOUR | _log(places) | dict(settings)
    lines = ["# Written by Mainspring at each start; changes here are lost.", ""]
    lines += [f"{name} = {_quote(value)}" for name, value in values.items()]
    return "\n".join(lines) + "\n"


def access_rules() -> str:
    return (
        "# Written by Mainspring at each start. Whoever is not named here is refused.\n"
        f"local all {PRODUCT_ROLE},{SUPERUSER} peer map={_MAP}\n"
    )


def user_map(operating_system_user: str) -> str:
    name = operating_system_user.replace('"', '""')
    return (
        "# Written by Mainspring at each start.\n"
        f'{_MAP} "{name}" {PRODUCT_ROLE}\n'
        f'{_MAP} "{name}" {SUPERUSER}\n'
    )


def check_settings(settings: Mapping[str, str]) -> None:
    for name in settings:
        if not re.fullmatch(r"[a-z_][a-z0-9_]*(\.[a-z_][a-z0-9_]*)?", name):
            raise EmbeddedError(
                f"`{name}` is no name of a PostgreSQL setting",
                hint="use lower case, as in `work_mem`",
            )
        if name in _OURS:
            raise EmbeddedError(
                f"the setting `{name}` of the embedded PostgreSQL is not open to change",
                hint="to place or open the server differently, run your own and set "
                "`MAINSPRING_DATABASE_URL`",
            )


def _access(places: Places) -> dict[str, str]:
    return {
        "hba_file": str(places.hba),
        "ident_file": str(places.ident),
        "listen_addresses": "",
        "port": str(PORT),
        "unix_socket_directories": str(places.socket),
        "unix_socket_permissions": "0700",
    }


def _sizes(machine: Machine) -> dict[str, str]:
    memory = machine.memory_bytes
    # Write-ahead log between checkpoints: more of it writes fewer full pages, but it takes disk.
    max_wal_gb = 8 if machine.disk_free_bytes >= 50 * _GB else 4
    return {
        "max_connections": "200",
        "shared_buffers": _megabytes(_clamp(memory // 8, 128 * _MB, 2 * _GB)),
        "effective_cache_size": _megabytes(_clamp(memory // 2, 512 * _MB, 64 * _GB)),
        "maintenance_work_mem": _megabytes(_clamp(memory // 32, 64 * _MB, 512 * _MB)),
        "work_mem": "16MB",
        "max_wal_size": f"{max_wal_gb}GB",
        "min_wal_size": "1GB",
        "wal_buffers": "16MB",
        "max_locks_per_transaction": "256",
    }


_BEHAVIOUR = {
    "fsync": "on",
    "synchronous_commit": "on",
    "full_page_writes": "on",
    "checkpoint_timeout": "15min",
    # Queue tables turn over within seconds; dead rows must go as fast.
    "autovacuum_naptime": "5s",
    "autovacuum_vacuum_cost_limit": "2000",
    "jit": "off",
    "random_page_cost": "1.1",
    # A forgotten transaction keeps dead rows of the queue alive; a vanished client keeps its locks.
    "idle_in_transaction_session_timeout": "60s",
    "client_connection_check_interval": "5s",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "datestyle": "iso, mdy",
    "lc_messages": "C",
    "default_text_search_config": "pg_catalog.simple",
    "cluster_name": "mainspring",
}


def _log(places: Places) -> dict[str, str]:
    return {
        "logging_collector": "on",
        "log_directory": str(places.log),
        "log_filename": "postgresql-%Y-%m-%d-%H%M%S.log",
        "log_file_mode": "0600",
        "log_rotation_age": "1d",
        # PostgreSQL rotates by size but never deletes; `logs.py` keeps the newest files.
        "log_rotation_size": "10MB",
        "log_line_prefix": "%m [%p] %q%u@%d %a ",
        "log_lock_waits": "on",
        "log_min_duration_statement": "5s",
        # Parameters are users' data and may be secrets.
        "log_parameter_max_length": "0",
        "log_parameter_max_length_on_error": "0",
    }


def _clamp(value: int, low: int, high: int) -> int:
    return max(low, min(value, high))


def _megabytes(count: int) -> str:
    return f"{count // _MB}MB"


def _quote(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("'", "''").replace("\n", "\\n")
    return f"'{escaped}'"
