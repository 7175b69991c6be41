"""`mainspring import crontab`: what it says of lines, and the file of dags that it writes."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mainspring.authoring.dags import Dag
from mainspring.cli import run_command
from mainspring.cli.crontab_dags import dag_names, written_file
from mainspring.schedule.crontab import read_crontab

Printed = pytest.CaptureFixture[str]

CRONTAB = """\
# of the shop

# Back up the "books"
PATH=/usr/local/bin:/usr/bin:/bin
30 2 * * MON-FRI  cd / && echo "done \\%"
CRON_TZ=Europe/Berlin
@daily  tr a-z A-Z%hello%it's "me"
"""


@pytest.fixture
def crontab(tmp_path: Path) -> Path:
    file = tmp_path / "shop.txt"
    file.write_text(CRONTAB)
    (tmp_path / "dags").mkdir()
    return file


def imported(capsys: Printed, *arguments: object, code: int = 0) -> dict[str, Any]:
    typed = ["import", "crontab", *map(str, arguments), "--timezone", "Asia/Tokyo", "--json"]
    assert run_command(typed) == code
    document: dict[str, Any] = msgspec.json.decode(capsys.readouterr().out)
    return document


def test_what_it_makes_of_each_line_is_told(crontab: Path, capsys: Printed) -> None:
    document = imported(capsys, crontab)
    assert document["written"] is None
    assert document["refused"] == []
    first, second = document["entries"]
    assert first.pop("next_fire_at").endswith("T17:30:00Z")
    assert first == {
        "line": 5,
        "dag": "echo",
        "schedule": "30 2 * * MON-FRI",
        "timezone": "Asia/Tokyo",
        "words": "on Monday to Friday at 02:30 (Asia/Tokyo)",
        "user": None,
        "command": 'cd / && echo "done %"',
        "stdin": None,
        "variables": {"PATH": "/usr/local/bin:/usr/bin:/bin"},
        "comment": 'Back up the "books"',
        "notes": [],
    }
    assert (second["dag"], second["timezone"]) == ("tr", "Europe/Berlin")
    assert second["stdin"] == 'hello\nit\'s "me"\n'


def test_the_dags_that_are_written_run(crontab: Path, capsys: Printed) -> None:
    output = crontab.parent / "dags" / "imported.py"
    assert imported(capsys, crontab, "--output", output)["written"] == str(output)
    for name, result in [("echo", "done %"), ("tr", 'IT\'S "ME"')]:
        assert run_command(["dag", "test", name, "--dags", str(output.parent), "--json"]) == 0
        [task] = msgspec.json.decode(capsys.readouterr().out)["tasks"]
        assert task["result"] == result
    # Their schedules are those of the crontab.
    day = ("--from", "2026-11-16T00:00Z", "--to", "2026-11-18T00:00Z")
    assert run_command(["simulate", str(output.parent), *day, "--json"]) == 0
    fires = msgspec.json.decode(capsys.readouterr().out)["fires"]
    assert [(fire["dag"], fire["fire_at"]) for fire in fires] == [
        ("echo", "2026-11-16T17:30:00Z"),
        ("tr", "2026-11-16T23:00:00Z"),
        ("echo", "2026-11-17T17:30:00Z"),
        ("tr", "2026-11-17T23:00:00Z"),
    ]


def test_nothing_is_written_while_a_line_is_refused(crontab: Path, capsys: Printed) -> None:
    crontab.write_text(CRONTAB + "@reboot start\n0 0 30 2 * never\n")
    output = crontab.parent / "dags" / "imported.py"
    document = imported(capsys, crontab, "--output", output, code=1)
    assert [(line["line"], line["text"]) for line in document["refused"]] == [
        (8, "@reboot start"),
        (9, "0 0 30 2 * never"),
    ]
    assert "`@reboot` has no instant" in document["refused"][0]["reason"]
    assert "Feb has 29 days" in document["refused"][1]["reason"]
    assert not output.exists()
    assert run_command(["import", "crontab", str(crontab), "--output", str(output)]) == 1
    told = capsys.readouterr().out
    assert "line 8 is refused" in told
    assert "Nothing is written" in told
    document = imported(capsys, crontab, "--output", output, "--skip-refused")
    assert document["written"] == str(output)
    assert output.read_text().count("@dag(") == 2
    assert sorted(path.name for path in output.parent.iterdir()) == ["imported.py"]


def test_a_file_that_is_there_stays_unless_told_otherwise(crontab: Path, capsys: Printed) -> None:
    output = crontab.parent / "dags" / "imported.py"
    output.write_text("mine")
    arguments = ["import", "crontab", str(crontab), "--output", str(output)]
    assert run_command(arguments) == 2
    assert "is there already" in " ".join(capsys.readouterr().err.split())
    assert output.read_text() == "mine"
    assert run_command([*arguments, "--force", "--dry-run"]) == 0
    assert "2 dags would be" in capsys.readouterr().out
    assert output.read_text() == "mine"
    assert run_command([*arguments, "--force"]) == 0
    assert "Wrote 2 dags to" in capsys.readouterr().out
    assert "def echo():" in output.read_text()


@pytest.mark.parametrize(
    ("content", "arguments", "words"),
    [
        (b"@daily a\n@daily \xff\n", [], "line 2: it is not UTF-8"),
        (b"@daily a", ["--timezone", "Mars"], "`Mars` is not a time zone"),
        (b"@daily a", ["--output", "dags.txt"], "does not end in `.py`"),
        (b"@daily a", ["--output", "nowhere/dags.py"], "there is no folder `nowhere`"),
        (None, [], "cannot read"),
    ],
)
def test_what_cannot_be_is_refused_as_a_whole(
    content: bytes | None, arguments: list[str], words: str, tmp_path: Path, capsys: Printed
) -> None:
    file = tmp_path / "crontab"
    if content is not None:
        file.write_bytes(content)
    assert run_command(["import", "crontab", str(file), *arguments]) == 2
    assert words in " ".join(capsys.readouterr().err.split())


def test_a_crontab_may_be_piped_in(capsys: Printed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"0 1 * * * root a b\n")))
    [entry] = imported(capsys, "-", "--system")["entries"]
    assert (entry["user"], entry["command"]) == ("root", "a b")
    assert "tasks run as the user of their worker" in entry["notes"][0]


def test_input_for_a_shell_without_here_documents_is_refused(
    tmp_path: Path, capsys: Printed
) -> None:
    file = tmp_path / "crontab"
    file.write_text("SHELL=/usr/bin/fish\n@daily cat%hello\n@daily true\n")
    document = imported(capsys, file, code=1)
    assert "cannot be handed over by `fish`" in document["refused"][0]["reason"]
    assert [entry["line"] for entry in document["entries"]] == [3]


def test_names_tell_what_a_command_is_about() -> None:
    commands = {
        "/usr/local/bin/backup.sh --all": "backup",
        "cd /srv && ./nightly-job.py": "nightly_job",
        "test -x /usr/sbin/anacron || ( cd / && run-parts --report /etc/cron.daily )": "cron_daily",
        "A=1 B=2 /usr/bin/php -f /srv/app/tasks.php": "tasks",
        "flock -n /tmp/lock sleep_less": "lock",
        "python3 -m reports": "reports",
        "/usr/local/bin/backup.sh --none": "backup_2",
        "class": "class_2",
        "dag": "dag_2",
        "[ -e x ]": "line_11",
        "8ball": "line_12",
    }
    text = "\n".join(f"@daily {command}" for command in ["true", *commands][1:])
    found = read_crontab("\n" + text, timezone="UTC")
    assert dag_names(found.entries) == list(commands.values())


# Whatever can stand in a line of a crontab.
WORDS = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\n\r\x00"), max_size=30
)


@given(WORDS, WORDS, WORDS, WORDS, st.sampled_from(["", "SHELL=/bin/bash\n"]))
def test_no_text_of_a_crontab_can_become_code(
    header: str, comment: str, command: str, value: str, shell: str
) -> None:
    crontab = read_crontab(
        f"# {header}\n\n# {comment}\n{shell}VALUE={value}\n@daily x {command}\n@hourly y {command}",
        timezone="Asia/Tokyo",
    )
    text = written_file(crontab, dag_names(crontab.entries), header)
    space: dict[str, Any] = {}
    exec(compile(text, "imported", "exec"), space)
    for entry, name in zip(crontab.entries, dag_names(crontab.entries), strict=True):
        made = space[name]
        assert isinstance(made, Dag)
        assert made.spec.schedules[0].spec["timezone"] == "Asia/Tokyo"
        [task] = made.spec.tasks
        told = msgspec.json.encode(task).decode()
        script = entry.command
        if entry.stdin is not None:
            script = "{ " + script + "\n} <<'END'\n" + entry.stdin + "END\n"
        assert msgspec.json.encode(script).decode() in told
        assert msgspec.json.encode(entry.variables["VALUE"]).decode() in told
