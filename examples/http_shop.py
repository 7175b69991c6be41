"""Requests: an order, placed by HTTP, once, however often it has to be asked for.

    mainspring dag trigger http_shop --wait
    mainspring dag trigger http_shop -p item=coffee --wait    # sold out: fails, at once
    mainspring run show last                                  # what was answered

The status of an answer decides: success, another attempt, or failure. Each attempt to order sends
the same idempotency key, which the task has for its whole life; so the shop can tell an attempt
from a second order. The shop is a small server of this file, so that no internet is needed. It
listens on the worker's own machine; for yours, write its address in the dag.
"""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from mainspring import dag, task
from mainspring.operators import http

STOCK = {"tea": 12, "coffee": 0}
OPEN_SECONDS = 300


class Shop(BaseHTTPRequestHandler):
    """Tells its stock, and takes orders after having been too busy once for each."""

    orders: dict[str, str | None]

    def do_GET(self) -> None:
        item = self.path.removeprefix("/stock/")
        self.answer(200, {"item": item, "stock": STOCK.get(item, 0)})

    def do_POST(self) -> None:
        size = int(self.headers.get("Content-Length", 0))
        sent = json.loads(self.rfile.read(size) or "null")
        if self.path == "/close":
            self.answer(200, {"orders": [item for item in self.orders.values() if item]})
            threading.Thread(target=self.server.shutdown).start()
        elif not STOCK.get(sent["item"]):
            self.answer(409, {"reason": f"{sent['item']} is sold out"})
        elif (key := self.headers["Idempotency-Key"]) not in self.orders:
            self.orders[key] = None
            self.answer(503, {"reason": "too busy"}, {"Retry-After": "1"})
        else:
            self.orders[key] = sent["item"]
            self.answer(201, {"order": f"{sent['item']} for {sent['customer']}"})

    def answer(self, status: int, content: object, headers: dict[str, str] | None = None) -> None:
        body = json.dumps(content).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """The attempts tell enough."""


@task(executor="thread")
def open_shop() -> dict[str, str]:
    """Open a shop in a thread beside this task, and tell where; it closes by itself some day."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Shop", (Shop,), {"orders": {}}))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    closing = threading.Timer(OPEN_SECONDS, server.shutdown)
    closing.daemon = True
    closing.start()
    shop = f"http://127.0.0.1:{server.server_port}"
    return {"tea": f"{shop}/stock/tea", "orders": f"{shop}/orders", "close": f"{shop}/close"}


@task
def confirm(stock: int, order: str, orders: list[str]) -> str:
    """The shop has one order, though it was asked for twice."""
    return f"ordered {order}, {len(orders)} time; the shop had {stock}"


@dag(tags=["example"])
def http_shop(item: str = "tea", customer: str = "Ada") -> None:
    """Look, order, close the shop."""
    shop = open_shop()
    # An address is text in the dag, with `path` and `query` for what varies, or, as here, a result.
    look = http("GET", shop["tea"], timeout="5s", name="look")
    order = http(
        "POST",
        shop["orders"],
        json={"item": item, "customer": customer},
        expect=201,
        name="order",
    )
    close = http("POST", shop["close"], name="close")
    look >> order >> close
    # Bodies of answers are JSON if they say that they are.
    confirm(look["body"]["stock"], order["body"]["order"], close["body"]["orders"])
