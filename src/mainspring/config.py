"""Settings, from the environment and the command line, checked once and handed on.

Every variable `MAINSPRING_X` may be given as `MAINSPRING_X_FILE`, the path of a file that
holds the value: how container platforms hand over secrets.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Literal

import msgspec

from mainspring.domain.durations import parse_duration
from mainspring.domain.errors import InputError, MainspringError, UnavailableError
from mainspring.domain.names import shown
from mainspring.domain.repositories import PREFIX, Repository, parse_repository

SNAPSHOTS_CACHED = 20
"""So many snapshots that nobody uses stay in a home's cache; others can be fetched again."""


class Variable(msgspec.Struct, frozen=True):
    """A setting, for those who look it up: `docs/reference/settings.md` is made of these."""

    default: str
    meaning: str


VARIABLES: Mapping[str, Variable] = {
    "DATABASE_URL": Variable(
        "the embedded PostgreSQL in the home",
        "where the database is: `postgresql://user:password@host:5432/database`",
    ),
    "URL": Variable(
        "none: they ask the database itself",
        "the server that commands, `HttpClient` and workers ask: `https://mainspring.example`",
    ),
    "TOKEN": Variable("none", "by what they are known there; see `mainspring token`"),
    "HOME": Variable(
        "`mainspring` in your data folder; as root `/var/lib/mainspring/home`",
        "the home: embedded database, snapshot cache, logs of `up`",
    ),
    "DAGS": Variable("none", "the folder of dags, or a branch: `git+URL@BRANCH:FOLDER`"),
    "APPS": Variable("none", "modules of applications whose tasks a worker runs, with commas"),
    "OBJECTS": Variable(
        "the folder `objects` in the home of an embedded database; else none",
        "where long logs and large code go: `s3://bucket/prefix`, `gs://…`, `az://…`,"
        " `file:///folder`, or `home:` for that folder",
    ),
    "KEEP": Variable("`30d`", "how long finished runs are kept; read by engines"),
    "LEASE_SECONDS": Variable("`15`", "how long a worker is trusted without a beat"),
    "HOST": Variable("`127.0.0.1`", "the address that the server listens at"),
    "PORT": Variable("`8470`", "the port that the server listens at"),
    "SERVER_NAMES": Variable(
        "none", "names that the server is called by, with commas, beside `localhost` and addresses"
    ),
    "RATE": Variable("`5000`", "how many requests a second the server takes from one token"),
    "LINGER_SECONDS": Variable(
        "`0`", "how long a server that was told to stop still takes callers, while not ready"
    ),
    "LOG_FORMAT": Variable(
        "`text` on a terminal and below `mainspring up`, else `json`",
        "how processes write their own log: `text` for people, or one JSON object a line",
    ),
    "LOG_LEVEL": Variable(
        "`info`", "from what on: `debug`, with each request of a server, `info`, `warning`, `error`"
    ),
    "METRICS_PORT": Variable(
        "none: they tell nothing", "the port at which an engine or a worker tells its metrics"
    ),
    "METRICS_HOST": Variable("`127.0.0.1`", "the address at which they do; anybody may ask there"),
}
"""What `_read` is asked for, in the order in which people look for it."""


class Leases(msgspec.Struct, frozen=True):
    """How long a worker is trusted without a sign of life, and how it stays below that."""

    lease_seconds: float = 15.0
    renew_seconds: float = 5.0
    margin_seconds: float = 3.0

    @property
    def trusted_seconds(self) -> float:
        """How long a worker trusts itself after a beat that was answered."""
        return self.lease_seconds - self.margin_seconds

    def __post_init__(self) -> None:
        if not 0 < self.renew_seconds < self.trusted_seconds:
            raise InputError(
                f"a lease of {self.lease_seconds:g} s with a margin of {self.margin_seconds:g} s"
                f" cannot be renewed every {self.renew_seconds:g} s",
                hint="give a longer lease, such as MAINSPRING_LEASE_SECONDS=15",
            )


class Listening(msgspec.Struct, frozen=True):
    """Where the server listens, and whom it takes for whom."""

    host: str = "127.0.0.1"
    port: int = 8470
    names: tuple[str, ...] = ()
    """What callers may call it, beside `localhost` and addresses."""
    rate: float = 5000.0
    """Requests a second that one token may make."""
    tls_cert: Path | None = None
    tls_key: Path | None = None
    behind_proxy: bool = False
    """Whether a proxy in front of it does TLS and says who called."""
    linger_seconds: float = 0.0
    """How long it still takes callers once it was told to stop."""


class LogLines(msgspec.Struct, frozen=True):
    """How a process writes its own log."""

    format: Literal["json", "text"] | None = None
    """None: as whoever reads it seems to be."""
    level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"


class MetricsDoor(msgspec.Struct, frozen=True):
    """Where an engine or a worker tells its metrics."""

    port: int
    host: str = "127.0.0.1"


class ServerPlace(msgspec.Struct, frozen=True):
    """Which server is asked, and by what the caller is known there."""

    url: str
    token: str | None = None


class Config(msgspec.Struct, frozen=True):
    home: Path
    database_url: str | None = None
    """None: the embedded PostgreSQL in `home`."""
    dags: Path | None = None
    """The folder that dags are read from."""
    repository: Repository | None = None
    """The repository that dags are read from, instead of a folder."""
    leases: Leases = Leases()
    keep: timedelta = timedelta(days=30)
    """How long finished runs are kept."""
    apps: tuple[str, ...] = ()
    """Modules of installed applications whose tasks a worker may run."""
    objects_url: str | None = None
    """The object store for long logs and large code."""
    listening: Listening = Listening()
    server: ServerPlace | None = None
    """The server that a remote worker asks, instead of the database."""
    metrics: MetricsDoor | None = None
    log_lines: LogLines = LogLines()

    @property
    def snapshots(self) -> Path:
        """Where workers keep the code that runs are pinned to."""
        return self.home / "snapshots"

    @property
    def object_store(self) -> str | None:
        """The name of the object store for long logs and large code; None if there is none.

        The folder in the home is where the embedded database is, and shares its fate. Beside a
        database of one's own it would be one machine's alone, so a store has to be named.
        """
        return self.objects_url or ("home:" if self.database_url is None else None)


def load_config(
    environ: Mapping[str, str] = os.environ,
    *,
    home: Path | None = None,
    dags: Path | Repository | None = None,
    apps: Sequence[str] = (),
    server_url: str | None = None,
    metrics_port: int | None = None,
) -> Config:
    """What the environment says, where the command line said nothing."""
    # Here, since who asks a server needs nothing of it.
    from mainspring.embedded import default_home

    given_home = _read(environ, "HOME")
    dags = dags or given_dags(_read(environ, "DAGS"))
    return Config(
        home=(home or (Path(given_home) if given_home else default_home())).absolute(),
        database_url=_read(environ, "DATABASE_URL"),
        dags=dags if isinstance(dags, Path) else None,
        repository=dags if isinstance(dags, Repository) else None,
        leases=_leases(environ),
        keep=_keep(environ),
        apps=tuple(apps or _listed(_read(environ, "APPS"))),
        objects_url=_read(environ, "OBJECTS"),
        listening=_listening(environ),
        server=ServerPlace(server_url, _read(environ, "TOKEN"))
        if server_url
        else find_server(environ),
        metrics=_metrics(environ, metrics_port),
        log_lines=_log_lines(environ),
    )


def given_dags(text: str | None) -> Path | Repository | None:
    """Where dags come from, as it is typed: a folder, or `git+URL@BRANCH:FOLDER`."""
    if not text:
        return None
    return parse_repository(text) if text.startswith(PREFIX) else Path(text)


def find_server(environ: Mapping[str, str] = os.environ) -> ServerPlace | None:
    """The server that MAINSPRING_URL names; None if it names none."""
    url = _read(environ, "URL")
    return None if url is None else ServerPlace(url, _read(environ, "TOKEN"))


def server_place(url: str | None, token: str | None) -> ServerPlace:
    """As given, else as the environment says. A token is sent nowhere but where it is meant for."""
    if url is not None:
        return ServerPlace(url, token)
    found = find_server()
    if found is None:
        raise InputError("no server is named", hint="give its address, or set MAINSPRING_URL")
    return ServerPlace(found.url, token or found.token)


def database_url(config: Config) -> str:
    """Where the database is: as configured, or the embedded one that runs in this home."""
    from mainspring.embedded import find_running

    url = config.database_url or find_running(config.home)
    if url is None:
        raise UnavailableError(
            f"nothing is running in {config.home}",
            hint="start it with `mainspring up`, or set MAINSPRING_DATABASE_URL",
        )
    return url


def _listed(text: str | None) -> list[str]:
    """`a,b`, in the order given."""
    return [item.strip() for item in (text or "").split(",") if item.strip()]


def _keep(environ: Mapping[str, str]) -> timedelta:
    given = _read(environ, "KEEP")
    if given is None:
        return timedelta(days=30)
    try:
        return timedelta(seconds=parse_duration(given))
    except (ValueError, MainspringError) as error:
        raise InputError(
            f"`MAINSPRING_KEEP` is no length of time: {error}", hint="such as `30d`"
        ) from None


def _listening(environ: Mapping[str, str]) -> Listening:
    port, rate = _read(environ, "PORT"), _read(environ, "RATE")
    linger = _read(environ, "LINGER_SECONDS")
    return Listening(
        host=_read(environ, "HOST") or "127.0.0.1",
        port=int(_number("PORT", port, 0, 65535)) if port else 8470,
        names=tuple(_listed(_read(environ, "SERVER_NAMES"))),
        rate=_number("RATE", rate, 1, 1e9) if rate else 5000.0,
        linger_seconds=_number("LINGER_SECONDS", linger, 0, 3600) if linger else 0.0,
    )


def _log_lines(environ: Mapping[str, str]) -> LogLines:
    form, level = _read(environ, "LOG_FORMAT"), _read(environ, "LOG_LEVEL")
    given = {"format": form, "level": (level or "info").upper()}
    try:
        return msgspec.convert(given, LogLines)
    except msgspec.ValidationError:
        wrong = "LOG_FORMAT" if form not in (None, "json", "text") else "LOG_LEVEL"
        raise InputError(
            f"`MAINSPRING_{wrong}` is {shown(form if wrong == 'LOG_FORMAT' else level)}",
            hint="formats are `json` and `text`; levels `debug`, `info`, `warning` and `error`",
        ) from None


def _metrics(environ: Mapping[str, str], port: int | None) -> MetricsDoor | None:
    host, given = _read(environ, "METRICS_HOST"), _read(environ, "METRICS_PORT")
    if port is None and given is not None:
        port = int(_number("METRICS_PORT", given, 0, 65535))
    return None if port is None else MetricsDoor(port, host or "127.0.0.1")


def _number(name: str, text: str, low: float, high: float) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not low <= number <= high or (name.endswith("PORT") and number != int(number)):
        raise InputError(
            f"`MAINSPRING_{name}` is {shown(text)}, which is no number from {low:g} to {high:g}"
        )
    return number


def _leases(environ: Mapping[str, str]) -> Leases:
    given = _read(environ, "LEASE_SECONDS")
    if given is None:
        return Leases()
    try:
        seconds = float(given)
    except ValueError:
        raise InputError(
            f"`MAINSPRING_LEASE_SECONDS` is `{given}`, which is no number",
            hint="give the lease of a worker in seconds, such as 15",
        ) from None
    # One renewal may fail or be late, and the margin is left: the proportions of the default.
    return Leases(seconds, seconds / 3, seconds / 5)


def _read(environ: Mapping[str, str], name: str) -> str | None:
    variable = f"MAINSPRING_{name}"
    if value := environ.get(variable):
        return value
    if file := environ.get(f"{variable}_FILE"):
        try:
            return Path(file).read_text("utf-8").strip()
        except OSError as error:
            raise InputError(
                f"`{variable}_FILE` names `{file}`, which cannot be read: {error.strerror}",
                hint=f"correct the path, or set `{variable}`",
            ) from None
    return None
