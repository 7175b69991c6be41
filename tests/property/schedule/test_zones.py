"""Our table of clock changes against the zone files, and against `zoneinfo` at any instant."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from importlib.resources import files
from struct import unpack
from zoneinfo import ZoneInfo, available_timezones

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mainspring.schedule.bounds import moment_of, seconds_of
from mainspring.schedule.zones import zone_named

NAMES = sorted(available_timezones())


@given(
    st.sampled_from(NAMES),
    st.datetimes(datetime(1970, 1, 1), datetime(2099, 12, 31), timezones=st.just(UTC)),
)
def test_clocks_show_what_zoneinfo_says(name: str, moment: datetime) -> None:
    instant = seconds_of(moment)
    local = moment_of(instant).astimezone(ZoneInfo(name))
    offset = local.utcoffset()
    assert offset is not None
    assert zone_named(name).wall(instant) == instant + offset.total_seconds()
    twice = local.replace(fold=0).utcoffset() != local.replace(fold=1).utcoffset()
    exists = local.replace(fold=1 - local.fold).astimezone(UTC).astimezone(ZoneInfo(name))
    if twice and exists.replace(fold=0, tzinfo=None) == local.replace(fold=0, tzinfo=None):
        assert zone_named(name).repeated(instant) == ("last" if local.fold else "first")
    else:
        assert zone_named(name).repeated(instant) == ""


@pytest.mark.parametrize("name", NAMES[::6])
def test_every_change_in_a_zone_file_is_known(name: str) -> None:
    """The file lists changes until 2037; later ones follow a rule, and are of the same kind."""
    for instant in changes_in(name):
        if not 0 < instant < 4_102_444_800:
            continue
        at = moment_of(instant).astimezone(ZoneInfo(name)).utcoffset()
        before = moment_of(instant - 1).astimezone(ZoneInfo(name)).utcoffset()
        assert (instant in zone_named(name).starts) == (at != before), moment_of(instant)


@pytest.mark.parametrize(
    "name", ["Asia/Gaza", "Africa/Casablanca", "America/Noronha", "Pacific/Apia"]
)
def test_changes_are_found_however_close_they_are(name: str) -> None:
    """Day by day through all years, in the zones whose changes lie closest together."""
    info, zone = ZoneInfo(name), zone_named(name)
    moment = datetime(1970, 1, 1, tzinfo=UTC)
    while moment.year < 2100:
        offset = moment.astimezone(info).utcoffset()
        assert offset == timedelta(seconds=zone.offset_at(seconds_of(moment))), moment
        moment += timedelta(hours=18)


def changes_in(name: str) -> list[int]:
    """The instants of a TZif file (RFC 8536): those of its second, 64-bit block."""
    content = files("tzdata").joinpath("zoneinfo", *name.split("/")).read_bytes()
    counts = unpack(">6l", content[20:44])
    isutc, isstd, leap, times, types, letters = counts
    second = 44 + times * 5 + types * 6 + letters + leap * 8 + isstd + isutc
    times = unpack(">6l", content[second + 20 : second + 44])[3]
    return list(unpack(f">{times}q", content[second + 44 : second + 44 + 8 * times]))
