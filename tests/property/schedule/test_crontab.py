"""Crontabs: every line is accounted for, and commands are cut as cron cuts them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mainspring.schedule.crontab import Crontab, read_crontab

PIECES = st.sampled_from(
    [
        *("0 2 * * *", "@daily", "@reboot", "*/5 9-17 * * MON-FRI", "0~30 4 * * *", "61 * * * *"),
        *("0 0 30 2 *", "PATH=/bin", "CRON_TZ=Europe/Berlin", "TZ=Mars", "A = 'b c'", "CRON_TZ="),
        *("RANDOM_DELAY=5", "RANDOM_DELAY=x", "# note", "", "root", "backup --all", "\t", "%", "-"),
    ]
)
LINES = st.one_of(st.lists(PIECES, max_size=3).map(" ".join), st.text(max_size=20))


def read(text: str, system: bool = False) -> Crontab:
    return read_crontab(text, timezone="UTC", system=system)


@given(st.lists(LINES, max_size=12).map("\n".join), st.booleans())
def test_each_line_is_an_entry_or_refused_or_a_comment_or_a_variable(
    text: str, system: bool
) -> None:
    found = read(text, system)
    lines = text.removeprefix("\ufeff").split("\n")
    comments = [each for entry in found.entries for each in entry.comment.splitlines()]
    told = [entry.line for entry in found.entries] + [line.line for line in found.refused]
    assert len(told) == len(set(told))
    for number, line in enumerate(lines, 1):
        stripped = line.strip()
        if number in told:
            assert stripped
            assert not stripped.startswith("#")
        elif stripped.startswith("#"):
            note = stripped.lstrip("#").strip()
            assert not note or (number, note) in found.comments or comments
        else:
            assert not stripped or "=" in stripped
    for refused in found.refused:
        assert refused.reason
    for entry in found.entries:
        assert entry.command
        assert "~" not in entry.when


@given(st.text("a\\% ", max_size=12).map(lambda text: f"x{text}y"))
def test_a_command_is_cut_at_each_percent_that_no_backslash_protects(text: str) -> None:
    parts, escaped = [""], False
    for character in text:
        if character == "%" and escaped:
            parts[-1] = parts[-1][:-1] + "%"
        elif character == "%":
            parts.append("")
        else:
            parts[-1] += character
        escaped = character == "\\" and not escaped
    command, *stdin = parts
    [entry] = read(f"@daily {text}").entries
    assert entry.command == command.rstrip()
    assert entry.stdin == ("\n".join(stdin) + "\n" if stdin else None)


def test_input_ends_with_one_end_of_line() -> None:
    found = read("@daily x%\n@daily x%a\n@daily x%a%\n@daily x%a%%")
    assert [entry.stdin for entry in found.entries] == ["", "a\n", "a\n", "a\n\n"]


def test_variables_hold_for_what_follows_them() -> None:
    found = read(
        '@daily one\nA=1\nCRON_TZ=Europe/Berlin\n@daily two\nA="2 "\nCRON_TZ=\n@daily three'
    )
    assert [dict(entry.variables) for entry in found.entries] == [{}, {"A": "1"}, {"A": "2 "}]
    assert [entry.spec.timezone for entry in found.entries] == ["UTC", "Europe/Berlin", "UTC"]


def test_entries_below_an_unknown_zone_are_refused_until_there_is_another() -> None:
    found = read("CRON_TZ=Mars\n@daily one\nCRON_TZ=Asia/Kolkata\n@daily two\n")
    assert [line.line for line in found.refused] == [1, 2]
    assert "line 1" in found.refused[1].reason
    [entry] = found.entries
    assert (entry.line, entry.spec.timezone) == (4, "Asia/Kolkata")


def test_a_comment_belongs_to_the_entry_below_it() -> None:
    found = read("# header\n\n# back up\n## the lot\nA=1\n@daily backup\n# tail")
    assert [entry.comment for entry in found.entries] == ["back up\nthe lot"]
    assert found.comments == [(1, "header"), (7, "tail")]


def test_users_come_only_in_system_crontabs() -> None:
    line = "17 * * * * root cd / && run-parts /etc/cron.hourly"
    [entry] = read(line, system=True).entries
    assert (entry.user, entry.command) == ("root", "cd / && run-parts /etc/cron.hourly")
    [entry] = read(line).entries
    assert (entry.user, entry.command) == (None, "root cd / && run-parts /etc/cron.hourly")
    assert "has no command" in read("17 * * * * root", system=True).refused[0].reason


def test_what_no_cron_would_take_is_refused() -> None:
    found = read(f'"A=B"=c\n@daily a\x00b\n@daily {"x" * 20_000}\n@daily a(b) c', system=True)
    assert [line.line for line in found.refused] == [1, 2, 3, 4]
    assert not found.entries


def test_random_values_and_delays_are_spread() -> None:
    found = read("RANDOM_DELAY=15\n~ 3~ * * ~5 x\n0~29/10,59 * * * * y\n* * 1~31 * * z")
    assert [entry.when for entry in found.entries] == [
        "H H(3-23) * * H(0-5)",
        "H(0-29)/10,59 * * * *",
    ]
    assert {entry.spec.jitter_seconds for entry in found.entries} == {900}
    assert "which `H` may not choose" in found.refused[0].reason
