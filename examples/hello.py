"""The smallest dag worth looking at: two tasks side by side, and one that waits for both.

mainspring dag trigger hello --wait
mainspring dag trigger hello -p name=Ada --wait
"""

import asyncio

from mainspring import dag, task


@task
def greet(name: str) -> str:
    return f"Hello, {name}!"


@task
async def weather() -> str:
    """Async tasks share one event loop; thousands of them can wait at the same time."""
    await asyncio.sleep(0.2)
    return "The sun is out."


@task
def say(sentences: list[str]) -> str:
    text = " ".join(sentences)
    print(text)
    return text


@dag(tags=["example"])
def hello(name: str = "world") -> None:
    """Greet somebody and talk about the weather."""
    say([greet(name), weather()])
