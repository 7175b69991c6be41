"""What operators and browsers need beside the resources: health, metrics, documentation, login."""

from __future__ import annotations

from functools import cache
from typing import Annotated

import msgspec
from msgspec import Meta

from mainspring.api.answers import Answer
from mainspring.api.calls import Call
from mainspring.api.guard import COOKIE
from mainspring.api.problems import Refusal
from mainspring.api.routes import Example, Resource
from mainspring.domain.errors import UnavailableError
from mainspring.domain.roles import Role
from mainspring.store import shapes
from mainspring.store.migrate import check_schema
from mainspring.store.reading import read_clock
from mainspring.store.tokens import SESSION_SECONDS, exchange_link, looks_like_secret, new_secret

operations = Resource("operations", "Health, metrics, documentation and login.", prefix="")

HTML = b"text/html; charset=utf-8"


class Health(msgspec.Struct, frozen=True):
    status: str


@operations.get("/healthz", needs=None)
async def healthz(call: Call) -> Health:
    """Whether this process lives. It does not ask the database: that is no reason to kill it."""
    return Health("ok")


@operations.get("/readyz", needs=None)
async def readyz(call: Call) -> Health:
    """Whether callers should be sent here: the database answers, and the server is not stopping."""
    if call.services.stopping:
        raise UnavailableError("the server is stopping", hint="ask another one")
    await call.services.read(check_schema)
    return Health("ready")


@operations.get("/api/v1/clock", needs=Role.VIEWER, shared=True)
async def clock(call: Call) -> shapes.Clock:
    """The database's clock, by which everything happens."""
    return shapes.Clock(now=await call.services.read(read_clock))


@operations.get("/metrics", needs=Role.VIEWER, produces="text/plain")
async def metrics(call: Call) -> Answer:
    """Metrics in the format of Prometheus."""
    services = call.services
    return Answer(
        services.metrics.text() + await services.whole.text(),
        content_type=b"text/plain; version=0.0.4; charset=utf-8",
        headers=[(b"cache-control", b"no-store")],
    )


@cache
def openapi_text() -> bytes:
    from mainspring.api.catalogue import RESOURCES
    from mainspring.api.openapi import document

    return msgspec.json.encode(document(RESOURCES))


@cache
def docs_text() -> bytes:
    from mainspring.api.catalogue import RESOURCES
    from mainspring.api.docs_page import page

    return page(RESOURCES).encode()


@operations.get("/api/v1/openapi.json", needs=None)
async def openapi(call: Call) -> Answer:
    """This interface as an OpenAPI 3.1 document."""
    return Answer(openapi_text())


@operations.get("/docs", needs=None, produces="text/html")
async def docs(call: Call) -> Answer:
    """This interface as a page for people."""
    policy = b"default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"
    return Answer(docs_text(), content_type=HTML, headers=[(b"content-security-policy", policy)])


class Login(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    code: Annotated[str, Meta(max_length=200, description="The secret of a login link.")]


@operations.get(
    "/login",
    needs=None,
    produces="text/html",
    refusals=(401,),
    status=303,
    example=Example(query={"code": "msp_the-secret-of-a-login-link"}),
)
async def login(call: Call, query: Login) -> Answer:
    """Exchange a login link for a session. A link opens once, within ten minutes."""
    session = new_secret()
    good = looks_like_secret(query.code) and await call.services.write(
        exchange_link, query.code, session
    )
    if not good:
        raise Refusal(
            401,
            "login_link",
            "this login link was used, has expired or never was",
            hint="`mainspring up` prints a new one when it starts",
        )
    secure = "; Secure" if call.services.secure else ""
    cookie = f"{COOKIE}={session}; Path=/; HttpOnly; SameSite=Strict; Max-Age={SESSION_SECONDS:.0f}"
    return Answer(
        status=303,
        content_type=HTML,
        headers=[
            (b"location", b"/"),
            (b"set-cookie", (cookie + secure).encode()),
            (b"cache-control", b"no-store"),
        ],
    )
