"""A shop that takes orders. Whatever takes long is left to workers.

    MAINSPRING_APPS=shop.tasks mainspring up   # in a first terminal, in the folder examples/app
    python -m shop                             # in a second, in the same folder

The worker of `up` has the application then; more workers get it by `--app shop.tasks`.

An order and the run that charges it are made in one transaction: both exist, or neither does.
"""

import asyncio
import datetime

import asyncpg

from mainspring import Client
from shop.tasks import Payment, charge, report, send_mail

TABLE = """
create table if not exists shop_order (
  id bigint generated always as identity primary key,
  customer text not null,
  cents int not null)
"""


async def main() -> None:
    async with (
        Client(created_by="shop") as mainspring,
        asyncpg.create_pool(await mainspring.database_url(), min_size=1) as pool,
    ):
        await pool.execute(TABLE)
        runs = [
            await take_order(pool, mainspring, "ada@example.org", 1250),
            await take_order(pool, mainspring, "bob@example.org", 899),
        ]
        try:
            await take_order(pool, mainspring, "eve@example.org", -100)
        except ValueError:
            print("the order of eve@example.org was refused, and nothing will be charged")
        # Only shortens the wait: without it, workers look every quarter of a second.
        await mainspring.wake()

        # However often this program runs, there is one report a day.
        today = datetime.datetime.now(datetime.UTC).date()
        runs.append(await mainspring.enqueue(report, day=today, idempotency_key=f"report:{today}"))
        # A set is one statement.
        customers = ["ada@example.org", "bob@example.org"]
        runs += await mainspring.enqueue_many(
            send_mail, [{"to": customer, "subject": "Thank you"} for customer in customers]
        )
        tomorrow = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=1)
        await mainspring.enqueue(
            send_mail, to="ada@example.org", subject="How was it?", run_at=tomorrow
        )
        for run_id in runs:
            run = await mainspring.wait(run_id)
            print(f"run {run_id} of {run.dag} {run.state}")


async def take_order(pool: asyncpg.Pool, mainspring: Client, customer: str, cents: int) -> int:
    async with pool.acquire() as connection, connection.transaction():
        [order] = await connection.fetchrow(
            "insert into shop_order (customer, cents) values ($1, $2) returning id", customer, cents
        )
        payment = Payment(card="4242", cents=cents)
        run_id = await mainspring.enqueue(
            charge, order=order, payment=payment, connection=connection
        )
        if cents < 0:
            raise ValueError("an order costs something")
        return run_id


if __name__ == "__main__":
    asyncio.run(main())
