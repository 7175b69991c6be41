"""Statistics over HTTP: what ended, in steps that are kept."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from mainspring.store.connection import Connection
from mainspring.store.history import archive_runs
from tests.contract.conftest import Api, fail_run

FAR = datetime(2100, 1, 1, tzinfo=UTC)


async def archive_now(connection: Connection) -> None:
    """As if all had ended now, after 3 s, of which it had waited for 1."""
    await connection.execute(
        "update mainspring.task set finished_at = clock_timestamp(),"
        " started_at = clock_timestamp() - interval '2 s' where finished_at is not null;"
        "update mainspring.run set finished_at = clock_timestamp(),"
        " due_at = clock_timestamp() - interval '3 s' where finished_at is not null"
    )
    await archive_runs(connection, 0, 10_000, FAR)


async def test_what_ended_is_told_by_dag_and_for_all(api: Api, finished: int) -> None:
    await fail_run(api.connection, "extract", "connection refused")
    await archive_now(api.connection)
    for path in ("/stats", "/stats?dag=daily_sales", "/dags/daily_sales/stats?step=hour"):
        told = (await api.get(path)).json()
        total = told["total"]
        assert (total["runs"], total["succeeded"], total["failed"]) == (2, 1, 1)
        assert total["duration"]["count"] == 2
        assert 1.0 <= total["duration"]["p50"] <= total["duration"]["p95"] <= 4.1
        assert total["duration"]["mean"] == pytest.approx(2.0, abs=0.1)
        assert total["lag"]["max"] == pytest.approx(1.0, abs=0.1)
        assert sum(point["runs"] for point in told["points"]) == 2
        assert told["step"] == ("hour" if "hour" in path else "minute")
    assert (await api.get("/dags/daily_sales/stats")).json()["dag"] == "daily_sales"


async def test_a_time_in_which_nothing_ended_has_no_points(api: Api) -> None:
    told = (await api.get("/stats?since=2025-01-01T00:30:00Z&until=2025-02-01T00:00:00Z")).json()
    assert (told["step"], told["points"], told["total"]["runs"]) == ("day", [], 0)
    assert told["since"] == "2025-01-01T00:00:00Z"
    assert told["total"]["duration"]["p50"] is None


async def test_what_is_not_kept_or_too_much_is_refused_with_a_way_out(api: Api) -> None:
    def ago(days: float) -> str:
        return (datetime.now(UTC) - timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%SZ")

    for query, pointer, words in (
        (f"step=minute&since={ago(3)}&until={ago(2.9)}", "query/step", "kept for 2 days"),
        (f"step=hour&since={ago(61)}", "query/step", "kept for 60 days"),
        (f"step=minute&since={ago(1.9)}", "query/step", "1,500 points"),
        (f"since={ago(1)}&until={ago(2)}", "query/since", "before"),
        ("until=0001-01-01T00:00:00Z", "query/until", "bounds"),
        ("step=year", "query/step", ""),
    ):
        refused = await api.get(f"/stats?{query}")
        assert refused.status_code == 422, refused.text
        [error] = refused.json()["errors"]
        assert error["pointer"] == pointer
        assert words in refused.text
    unknown = await api.get("/dags/daily_sale/stats")
    assert unknown.status_code == 404
    assert (await api.get("/stats?dag=nope")).status_code == 404
