"""What people have left lying about: jobs, backfills, pauses, tokens, and runs that wait.

Everything is asked for as anybody would ask for it, and happens once the demo runs.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from mainspring.client import Client
from mainspring.domain.roles import Role
from mainspring.schedule.backfilling import Reprocess
from mainspring.store.backfill_orders import BackfillOrder
from mainspring.store.connection import Connection
from mainspring.store.tokens import create_token, new_secret


async def furnish(client: Client, connection: Connection, now: datetime) -> None:
    await _pause(client)
    await _create_jobs(client, now)
    await _create_backfills(client, now)
    for name, role, queues in (
        ("grafana", Role.VIEWER, ()),
        ("deploy-bot", Role.OPERATOR, ()),
        ("workers-osaka", Role.WORKER, ("logistics", "pictures")),
    ):
        await create_token(connection, new_secret(), name=name, role=role, queues=queues, by="anna")


async def _pause(client: Client) -> None:
    note = "the machines of the lab are being rebuilt, back on Monday"
    await client.pause_queue("gpu_lab", by="mei", note=note)
    for layers in (12, 24, 48):
        await client.trigger("vision_experiment", {"layers": layers}, created_by="mei")
    await client.pause_dag("report_marketing", by="tobias", note="new figures from next week on")
    await client.trigger("train_churn", {"model": "churn", "epochs": 30}, created_by="mei")
    await client.trigger("load_events", created_by="anna")


async def _create_jobs(client: Client, now: datetime) -> None:
    await client.create_job("disk_usage", command=["df", "-h", "/"], when="every 5m", by="tobias")
    await client.create_job(
        "sweep_uploads",
        command=["echo", "swept 214 files"],
        when="30 3 * * *",
        timezone="Europe/Berlin",
        by="tobias",
    )
    await client.create_job(
        "call_crm", http="http://crm.invalid/api/refresh", retries=2, timeout="10s", by="anna"
    )
    await client.create_job("import_leads", command=["sh", "-c", "echo 7 rows; exit 3"], by="anna")
    await client.create_job("hello", command=["echo", "hello from a job"], by="mei")
    await client.create_job(
        "campaign_start",
        task="cart_reminders",
        parameters={"hours": 72},
        when=(now + timedelta(days=2)).replace(microsecond=0),
        by="anna",
    )


async def _create_backfills(client: Client, now: datetime) -> None:
    """One that is done almost at once, one that goes on for long, one that somebody has paused."""
    hour = now.replace(minute=0, second=0, microsecond=0)
    await client.create_backfill(
        BackfillOrder(
            schedule="health_probe",
            since=hour - timedelta(hours=6),
            until=hour - timedelta(hours=5),
            reprocess=Reprocess.ALL,
            concurrency=12,
            note="the probe had asked the wrong host",
        ),
        by="tobias",
    )
    await client.create_backfill(
        BackfillOrder(
            schedule="search_index",
            since=hour - timedelta(days=4),
            until=hour,
            reprocess=Reprocess.ALL,
            concurrency=2,
            note="after the change of the tokenizer",
        ),
        by="anna",
    )
    paused = await client.create_backfill(
        BackfillOrder(
            schedule="report_sales",
            since=hour - timedelta(days=30),
            until=hour,
            reprocess=Reprocess.ALL,
            note="with the corrected rates",
        ),
        by="mei",
    )
    await client.pause_backfill(paused.id, by="mei", note="finance is closing its books")
