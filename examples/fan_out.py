"""Fan out and join: many tasks side by side, and one that waits for all of them.

    mainspring dag trigger fan_out --wait
    mainspring run watch last                      # while it runs, in another terminal
    mainspring run why last join                   # what it waits for

The dag's function is plain Python that draws the graph, so a loop draws as many tasks as it goes
round. How many is settled when the file is read; what they work on is known when they run.
"""

import asyncio
import random
import time

from mainspring import dag, task

PARTS = 8


@task
def split(text: str) -> list[list[str]]:
    """Deal the words out, one hand for each of the tasks to come."""
    words = text.split()
    return [words[number::PARTS] for number in range(PARTS)]


@task
def count(words: list[str]) -> int:
    """A plain function runs in a process of its own: right for work that needs the processor."""
    time.sleep(random.uniform(0.2, 1.0))
    return sum(len(word) for word in words)


@task
async def look_up(words: list[str]) -> int:
    """An async function shares a process with others: right for waiting, a thousand at a time."""
    await asyncio.sleep(random.uniform(0.2, 1.0))
    return len(set(words))


@task
def join(letters: list[int], distinct: list[int]) -> str:
    """Starts when all before it have succeeded. If one fails, this is closed without running."""
    return f"{sum(letters)} letters, at most {sum(distinct)} different words"


@dag(tags=["example"])
def fan_out(
    text: str = "the quick brown fox jumps over the lazy dog and the dog sleeps on",
) -> None:
    """Count the letters and words of a text, in eight parts at once."""
    parts = split(text)
    # `parts[3]` is a part of a result that is not known yet: an argument of its own.
    letters = [count.named(f"count_part_{n + 1}")(parts[n]) for n in range(PARTS)]
    distinct = [look_up.named(f"look_up_part_{n + 1}")(parts[n]) for n in range(PARTS)]
    join(letters, distinct)
