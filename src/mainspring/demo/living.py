"""Customers and colleagues: they start things, for as long as the demo runs."""

from __future__ import annotations

import asyncio
import random
from typing import Any

from mainspring.client import Client

_REST_SECONDS = (0.6, 3.5)
_NOW_AND_THEN = 25
"""So many customers come before a colleague starts something larger."""
_LARGER = ("load_events", "check_quality", "archive_logs", "score_customers", "ledger_check")


async def live(client: Client, seed: int) -> None:
    """For ever."""
    chance = random.Random(f"life {seed}")
    count = 0
    while True:
        await asyncio.sleep(chance.uniform(*_REST_SECONDS))
        count += 1
        name, parameters, who = _customer(chance)
        if count % _NOW_AND_THEN == 0:
            name, parameters, who = chance.choice(_LARGER), {}, chance.choice(("anna", "tobias"))
        await client.trigger(name, parameters, created_by=who)


def _customer(chance: random.Random) -> tuple[str, dict[str, Any], str]:
    order = chance.randint(10_000, 99_999)
    match chance.random():
        case share if share < 0.8:
            country = chance.choice(("de", "fr", "jp", "uk", "us"))
            given = {"order": order, "country": country, "express": chance.random() < 0.2}
            return "order_placed", given, "shop-api"
        case share if share < 0.95:
            reason = chance.choice(("broken", "late", "wrong"))
            return "refund", {"order": order, "reason": reason}, "support-desk"
    return "erase_customer", {"customer": order}, "privacy-portal"
