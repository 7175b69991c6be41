"""The documentation of the interface as one page, which needs nothing from elsewhere."""

from __future__ import annotations

import html
import json
import shlex
from collections.abc import Sequence
from urllib.parse import urlencode

import msgspec

from mainspring.api.problems import TITLES
from mainspring.api.routes import Resource, Route, refusals_of
from mainspring.api.samples import sample

_STYLE = """
:root { color-scheme: light dark; --line: #8884; --soft: #8881; --accent: #2563eb; }
body { font: 15px/1.55 system-ui, sans-serif; margin: 0 auto; max-width: 60rem;
  padding: 2rem 1rem; }
h1 { font-size: 1.6rem; } h2 { margin-top: 3rem; border-bottom: 1px solid var(--line); }
nav a { margin-right: 1rem; } a { color: var(--accent); text-decoration: none; }
details { border: 1px solid var(--line); border-radius: .5rem; margin: .6rem 0; }
summary { cursor: pointer; padding: .6rem .8rem; } details > div { padding: 0 1rem 1rem; }
code, pre { font: 13px/1.5 ui-monospace, monospace; }
pre { background: var(--soft); border-radius: .4rem; overflow: auto; padding: .7rem; }
.method { display: inline-block; font-weight: 700; min-width: 4.5rem; }
.role { border: 1px solid var(--line); border-radius: 1rem; font-size: 12px; padding: 0 .6rem;
  float: right; }
table { border-collapse: collapse; } td { padding: .15rem 1rem .15rem 0; vertical-align: top; }
"""


def page(resources: Sequence[Resource]) -> str:
    sections = "".join(_section(resource) for resource in resources)
    links = "".join(f'<a href="#{each.tag}">{each.tag}</a>' for each in resources)
    return (
        "<!doctype html><html lang=en><meta charset=utf-8>"
        '<meta name=viewport content="width=device-width">'
        f"<title>Mainspring: the interface</title><style>{_STYLE}</style>"
        "<h1>Mainspring over HTTP</h1>"
        "<p>Everything that the command line can do. For programs the same is in"
        ' <a href="/api/v1/openapi.json">openapi.json</a>. Make a token with'
        " <code>mainspring token create --name NAME --role viewer</code> and send it as"
        " <code>Authorization: Bearer msp_…</code>.</p>"
        f"<nav>{links}<a href='#problems'>problems</a></nav>{sections}{_problems()}</html>"
    )


def _section(resource: Resource) -> str:
    routes = "".join(_route(route) for route in resource.routes)
    return f"<h2 id={resource.tag}>{resource.tag}</h2><p>{html.escape(resource.about)}</p>{routes}"


def _route(route: Route) -> str:
    role = "public" if route.needs is None else route.needs.value
    head = (
        f"<details id={route.name}><summary><span class=role>{role}</span>"
        f"<span class=method>{route.method}</span><code>{html.escape(route.path)}</code>"
        f" · {_text(route.summary)}</summary><div>"
    )
    parts = [head]
    if route.description:
        parts.append(f"<p>{_text(route.description)}</p>")
    if route.query is not None:
        rows = "".join(
            f"<tr><td><code>{field.encode_name}</code><td>{_text(_about(field.type))}"
            for field in msgspec.structs.fields(route.query)
        )
        parts.append(f"<table>{rows}</table>")
    parts.append(f"<pre>{html.escape(curl(route))}</pre>")
    if route.answer is not None:
        answer = json.dumps(sample(route.answer), indent=2, ensure_ascii=False)
        parts.append(f"<p>{route.status}:</p><pre>{html.escape(answer)}</pre>")
    statuses = ", ".join(str(status) for status in refusals_of(route))
    parts.append(f"<p>Problems: {statuses}.</p></div></details>")
    return "".join(parts)


def curl(route: Route) -> str:
    """The route's example as somebody would type it."""
    example = route.example
    path = route.path
    for name, value in example.path.items():
        path = path.replace(f"{{{name}}}", value)
    if example.query:
        path += "?" + urlencode(example.query, safe=",:")
    lines = [f"curl {shlex.quote('http://127.0.0.1:8470' + path)}"]
    if route.method != "GET":
        lines[0] = lines[0].replace("curl ", f"curl -X {route.method} ", 1)
    if route.needs is not None:
        lines.append('-H "Authorization: Bearer $TOKEN"')
    lines += [f"-H {shlex.quote(f'{name}: {value}')}" for name, value in example.headers.items()]
    if example.body is not None:
        lines.append("-H 'Content-Type: application/json'")
        lines.append(f"-d {shlex.quote(json.dumps(example.body))}")
    return " \\\n  ".join(lines)


def _problems() -> str:
    rows = "".join(f"<tr><td><code>{status}</code><td>{TITLES[status]}" for status in TITLES)
    return (
        "<h2 id=problems>problems</h2><p>What is not done is told as RFC 9457 says, with a stable"
        " <code>code</code>, a <code>hint</code>, and the field in <code>errors</code>.</p>"
        f"<table>{rows}</table>"
    )


def _text(text: str) -> str:
    """Prose with literals in backticks."""
    pieces = html.escape(text).split("`")
    return "".join(
        f"<code>{piece}</code>" if place % 2 else piece for place, piece in enumerate(pieces)
    )


def _about(kind: object) -> str:
    from mainspring.api.openapi import description_of

    return description_of(kind)
