"""Which queues a worker serves."""

from __future__ import annotations

from mainspring.client import Client
from mainspring.store.reading import read_run
from tests.support.team import Team

MAIL = """
@task(queue="mail")
def send():
    effect("sent")

@dag
def letters():
    send()
"""
PRINT = MAIL.replace("mail", "print").replace("letters", "posters").replace("sent", "printed")


async def test_who_serves_all_queues_serves_those_that_come_later(team: Team) -> None:
    team.write("letters.py", MAIL)
    team.start_engine()
    team.start_worker("--queues", "*")
    await team.known("letters")
    async with Client(team.url) as client:
        first = await client.trigger("letters")
        assert (await client.wait(first)).state == "succeeded"
        team.write("posters.py", PRINT)
        await team.known("posters")
        second = await client.trigger("posters")
        assert (await client.wait(second)).state == "succeeded"


async def test_who_names_its_queues_leaves_the_others_alone(team: Team) -> None:
    team.write("letters.py", MAIL)
    team.write("posters.py", PRINT)
    team.start_engine()
    team.start_worker("--queues", "print")
    await team.known("letters")
    await team.known("posters")
    async with Client(team.url) as client:
        left = await client.trigger("letters")
        assert (await client.wait(await client.trigger("posters"))).state == "succeeded"
        assert (await client.ask(read_run, left)).open_tasks == 1
