"""What is counted is what Prometheus reads."""

from __future__ import annotations

import asyncio
import contextlib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Histogram
from prometheus_client.exposition import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from mainspring.config import MetricsDoor
from mainspring.domain.errors import UnavailableError
from mainspring.observe.catalogue import CATALOGUE, Source, metrics_of
from mainspring.observe.listener import told
from mainspring.observe.measures import BOUNDS, Measures

_TIMED = "mainspring_claim_seconds"
_seconds = st.one_of(st.sampled_from(BOUNDS), st.floats(0, 1000))


def samples(text: bytes) -> dict[tuple[str, tuple[str, ...]], float]:
    return {
        (sample.name, tuple(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(text.decode())
        for sample in family.samples
    }


@given(st.lists(st.tuples(_seconds, st.integers(1, 4)), max_size=30))
def test_times_are_told_as_a_histogram_of_prometheus_would(took: list[tuple[float, int]]) -> None:
    measures, registry = Measures("worker"), CollectorRegistry()
    oracle = Histogram(_TIMED, "", buckets=BOUNDS, registry=registry)
    for seconds, times in took:
        measures.took(_TIMED, seconds, times)
        for _ in range(times):
            oracle.observe(seconds)
    ours, theirs = samples(measures.text()), samples(generate_latest(registry))
    for key, value in theirs.items():
        if not key[0].endswith("_created"):
            assert ours[key] == pytest.approx(value), key


@pytest.mark.parametrize("source", ["engine", "worker"])
def test_all_that_the_catalogue_has_is_told_from_the_start(source: Source) -> None:
    text = Measures(source).text().decode()
    assert set(re.findall(r"^# HELP (\S+) ", text, re.MULTILINE)) == metrics_of(source).keys()


def test_what_is_not_in_the_catalogue_cannot_be_counted() -> None:
    with pytest.raises(KeyError):
        Measures("worker").add("mainspring_fires_total")


def test_names_end_in_their_unit_or_say_that_they_only_grow() -> None:
    for name, metric in CATALOGUE.items():
        assert name.startswith("mainspring_")
        assert (metric.kind == "counter") == name.endswith("_total"), name
        assert metric.kind != "histogram" or name.endswith("_seconds"), name


async def test_the_door_tells_metrics_and_nothing_else() -> None:
    measures = Measures("engine")
    measures.add("mainspring_fires_total", 3)
    port = _free_port()
    async with told(measures, MetricsDoor(port)):
        answer = await _ask(port, b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
        assert b"mainspring_fires_total 3.0\n" in answer
        head = await _ask(port, b"HEAD /metrics HTTP/1.1\r\n\r\n")
        assert head.endswith(b"\r\n\r\n")
        assert b" 404 " in await _ask(port, b"GET / HTTP/1.1\r\n\r\n")
        assert b" 405 " in await _ask(port, b"POST /metrics HTTP/1.1\r\n\r\n")
        assert await _ask(port, b"x" * 100_000) == b""
        with pytest.raises(UnavailableError, match="cannot be told"):
            async with told(measures, MetricsDoor(port)):
                pass


def _free_port() -> int:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


async def _ask(port: int, request: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    told = b""
    with contextlib.suppress(ConnectionError):
        writer.write(request)
        await writer.drain()
        told = await reader.read()
    writer.close()
    return told
