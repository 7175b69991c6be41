"""Dags that have much to say, for the tests of runs, tasks and logs."""

import time

from mainspring import context, dag, task


@task
def chatter(lines: int) -> int:
    for line in range(lines):
        level = "\x1b[31mERROR\x1b[0m" if line == lines // 2 else "\x1b[32mINFO\x1b[0m"
        print(f"{level} line {line}: " + "so much to say " * (line % 9))
    return lines


@task
def tell(lines: int) -> str:
    return f"{lines} lines"


@dag
def talk(lines: int = 20_000) -> None:
    tell(chatter(lines))


@task
def listen() -> None:
    """Goes on until it is cancelled."""
    for word in range(100_000):
        context().progress(word % 100, f"word {word}")
        print("heard", word)
        time.sleep(0.05)


@dag
def hall() -> None:
    listen()


@task(queue="stage")
def sing() -> str:
    return "la"


@dag
def stage() -> None:
    """Its queue is paused by a test."""
    sing()
