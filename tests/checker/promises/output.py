"""O1: what is kept of a task's output is what it printed, up to where the log says that it is."""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from tests.checker.case import TERMS, Case
from tests.checker.finding import Finding
from tests.checker.sinks import line


class Printed(NamedTuple):
    run: int
    task: str
    token: int

    def text(self, lines: int) -> bytes:
        all_lines = (line(self.run, self.task, self.token, number) for number in range(lines))
        return "".join(all_lines).encode()


def what_was_printed_is_kept(case: Case) -> Finding:
    """The log of an attempt is the beginning of what it printed, and all of it if the log is marked
    as complete: the attempt is not lost, and the log does not say that something came after.

    Who was stopped may print on while nobody listens any more, so its log need not have all.
    """
    finding = Finding("O1", "a log holds what was printed, all of it if it is complete")
    about_to: dict[Printed, int] = defaultdict(int)
    done: dict[Printed, int] = defaultdict(int)
    for output in case.output:
        printed = Printed(output.run, output.task, output.token)
        of_phase = about_to if output.phase == "before" else done
        of_phase[printed] = max(of_phase[printed], output.lines)
    complete = 0
    for printed, lines in about_to.items():
        task_id, term = case.task_id(printed.run, printed.task), printed.token % TERMS
        if task_id is None:
            continue
        stored = case.tables.logs.get((task_id, term))
        content = b"" if stored is None else stored.content
        about = f"{case.told(task_id)} under term {term}"
        finding.exercised += bool(content)
        if not printed.text(lines).startswith(content):
            finding.broken(f"the log of {about} has something that it did not print")
        if stored is not None and (stored.cut or stored.hole):
            continue
        if _ended_by_itself(case, task_id, term):
            complete += 1
            wanted = printed.text(done[printed])
            if len(content) < len(wanted):
                finding.broken(
                    f"the log of {about} is complete with {len(content)} bytes, and it had printed"
                    f" {len(wanted)}"
                )
    finding.notes.append(f"{complete} of the logs had to be complete")
    return finding


def _ended_by_itself(case: Case, task_id: int, term: int) -> bool:
    held = case.story.under(task_id, term)
    if held is None or held.until is None or (task_id, term) in case.marks:
        return False
    return held.ended is None or held.ended.state in ("failed", "skipped")
