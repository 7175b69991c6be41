"""A long task: it says how far it is, can be stopped, and goes on where it was.

    mainspring dag trigger long_task
    mainspring run watch last                      # how far it is
    mainspring run logs last -f                    # what it prints
    mainspring run cancel last                     # stop it: its `finally` still runs
    mainspring run rerun last                      # go on

A task has no time limit unless you give one, and its worker may be restarted under it. Then it is
tried again from its beginning, on another worker if there is one. So a long task keeps notes of
what it has done, under a key that is the same for each attempt.
"""

import json
import tempfile
import time
from pathlib import Path

from mainspring import context, dag, task


@task(timeout="1h", retries=2)
def copy_pages(pages: int, seconds: float) -> int:
    """Copy pages one by one, a note after each. Returns how many this attempt has copied."""
    key = context().idempotency_key.replace("/", "-")
    notes = Path(tempfile.gettempdir(), f"mainspring-example-{key}.json")
    first = json.loads(notes.read_text()) if notes.exists() else 0
    if first:
        print(f"going on after page {first}")
    try:
        for page in range(first + 1, pages + 1):
            time.sleep(seconds)
            notes.write_text(json.dumps(page))
            context().progress(100 * page / pages, f"page {page} of {pages}")
            print(f"copied page {page}")
    finally:
        # Also after a timeout and a cancel: user code is asked to stop before it is killed.
        print("putting the copier away")
    notes.unlink()
    return pages - first


@task
def bind(copied: int) -> str:
    return f"a book; the last attempt has copied {copied} pages of it"


@dag(tags=["example"], timeout="2h")
def long_task(pages: int = 20, seconds: float = 1.0) -> None:
    """Copy a book, page by page."""
    bind(copy_pages(pages, seconds))
