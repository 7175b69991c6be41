"""Notes that people leave with what they do, for those who will wonder."""

from __future__ import annotations

from mainspring.domain.errors import InputError

NOTE_LENGTH_MAX = 1_000


def checked_note(note: str | None) -> str | None:
    """A note as it can be stored; None for one that says nothing."""
    if note is None or not note.strip():
        return None
    if len(note) > NOTE_LENGTH_MAX:
        raise InputError(f"a note has at most {NOTE_LENGTH_MAX:,} characters")
    return note.strip().encode("utf-8", "backslashreplace").decode().replace("\x00", "\\x00")
