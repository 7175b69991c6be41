"""The client over HTTP: what the server can do, as typed methods, grouped as its routes are.

    async with HttpClient("https://mainspring.example", "msp_…") as client:
        run = await client.dags.create_run("daily_sales", parameters={"region": "eu"})
        async for each in client.runs.each(dag="daily_sales"):
            ...

client.py         a method for each route; generated from the routes, like models.py beside it
asking.py         one request's road: encode, send, again if need be, decode
requests.py       what is sent, and what comes back; pure
later.py          what is loaded when it is first used
retrying.py       whether to ask again, and when; pure
refusals.py       a problem of the server as the error that it was there
sync_client.py, sync_asking.py   the same without an event loop; generated from the asynchronous

`mainspring` itself speaks through it, over the network or, beside the database, with the same
routes in its own process. It imports nothing of the server.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mainspring.domain.pages import Page
from mainspring.http.client import HttpClient
from mainspring.http.refusals import Refused

if TYPE_CHECKING:
    from mainspring.http.sync_client import SyncHttpClient

__all__ = ["HttpClient", "Page", "Refused", "SyncHttpClient"]


def __getattr__(name: str) -> Any:
    # As large as its twin, and hardly anybody needs both.
    if name == "SyncHttpClient":
        from mainspring.http.sync_client import SyncHttpClient

        return SyncHttpClient
    raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
