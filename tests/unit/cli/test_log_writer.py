"""Logs on a screen and in a pipe."""

from __future__ import annotations

import pytest

from mainspring.cli.log_writer import LogWriter
from mainspring.store.logs import LogChunk


def written(
    capsys: pytest.CaptureFixture[str],
    chunks: list[tuple[int, int, bytes]],
    *,
    several: bool = False,
    terminal: bool = False,
    labels: dict[tuple[int, int], str] | None = None,
) -> str:
    writer = LogWriter(
        (lambda task: f"t{task}") if several else None, labels or {}, terminal=terminal
    )
    for number, (task_id, term, content) in enumerate(chunks):
        writer.write(LogChunk(task_id, term, number, content))
    writer.close()
    return capsys.readouterr().out


def test_a_pipe_gets_text_as_it_is_but_for_bad_bytes_and_nul(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert written(capsys, [(1, 1, b"\x1b[31mred \xff \x00")]) == "\x1b[31mred � ␀"


def test_a_terminal_is_not_steered(capsys: pytest.CaptureFixture[str]) -> None:
    out = written(capsys, [(1, 1, b"\x1b[2Jboom\r\nnext\x07")], terminal=True)
    assert out == "␛[2Jboom\nnext␇\n"


def test_a_character_cut_between_chunks_stays_whole(capsys: pytest.CaptureFixture[str]) -> None:
    euro = "€".encode()
    assert written(capsys, [(1, 1, euro[:1]), (1, 1, euro[1:])]) == "€"


def test_lines_of_several_tasks_are_prefixed_and_do_not_mix(
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = written(capsys, [(1, 1, b"a"), (2, 1, b"b\nc"), (1, 1, b"A\n")], several=True)
    assert out == "t2 │ b\nt1 │ aA\nt2 │ c\n"


def test_a_new_attempt_begins_a_new_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert written(capsys, [(1, 1, b"a"), (1, 2, b"b\n")], several=True) == "t1 │ a\nt1 │ b\n"


def test_attempts_have_headings_on_a_terminal_only(capsys: pytest.CaptureFixture[str]) -> None:
    chunks = [(1, 1, b"a"), (1, 2, b"b\n")]
    labels = {(1, 1): "attempt 1, failed", (1, 2): "attempt 2"}
    assert written(capsys, chunks, labels=labels) == "ab\n"
    assert written(capsys, chunks, labels=labels, terminal=True) == (
        "── attempt 1, failed ──\na\n── attempt 2 ──\nb\n"
    )


def test_an_endless_line_is_not_held_for_ever(capsys: pytest.CaptureFixture[str]) -> None:
    writer = LogWriter(lambda task: f"t{task}", {}, terminal=False)
    for number in range(4):
        writer.write(LogChunk(1, 1, number, b"x" * 40_000))
    assert capsys.readouterr().out.count("\n") == 2
