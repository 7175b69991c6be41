"""Whether the object store takes and gives objects, as `mainspring doctor` asks it."""

from __future__ import annotations

from pathlib import Path

from mainspring.domain.errors import MainspringError
from mainspring.logs.places import Places
from mainspring.store.checks import Check, Verdict


async def objects_check(name: str | None, home: Path) -> Check:
    """Put, read and remove a small object, from this machine and with this environment."""
    if name is None:
        fix = "if that is too much for it, name a store in MAINSPRING_OBJECTS"
        return Check("objects", Verdict.OK, "long logs stay in the database", fix)
    try:
        await Places(home).probe(name)
    except MainspringError as error:
        found = f"long logs stay in the database: {error.message}"
        return Check("objects", Verdict.WARNING, found, error.hint)
    return Check("objects", Verdict.OK, f"`{name}` takes and gives objects")
