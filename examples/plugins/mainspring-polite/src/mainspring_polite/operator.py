"""`pack_folder`: a folder as a compressed file, packed politely."""

from typing import Any, Unpack

from mainspring import task
from mainspring.operators.options import TaskOptions, require_drawing


def pack_folder(folder: Any, to: Any, **options: Unpack[TaskOptions]) -> Any:
    """Draw a task that packs a folder into the file `to`, which is its result."""
    require_drawing("pack_folder")
    return _pack.with_options(**options)(folder, to)


@task(name="pack_folder", executor="polite")
def _pack(folder: str, to: str) -> list[str]:
    """Pack a folder."""
    # First under another name: a file that is there is whole.
    script = 'tar -czf "$2.part" -C "$1" . && mv "$2.part" "$2" && echo "$2"'
    return ["/bin/sh", "-c", script, "sh", folder, to]
