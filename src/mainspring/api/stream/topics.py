"""What can be listened to, and its name. Pure."""

from __future__ import annotations

from typing import Literal

import msgspec

from mainspring.api.problems import Refusal, field_refusal
from mainspring.domain.names import listed, name_problem, shown

Kind = Literal["runs", "run", "log", "queues", "workers", "dags"]

TOPICS_PER_LISTENER_MAX = 32
_FORMS = ("runs", "runs:dag=NAME", "run:ID", "log:RUN/TASK/ATTEMPT", "queues", "workers", "dags")


class Topic(msgspec.Struct, frozen=True):
    kind: Kind
    dag: str | None = None
    run: int = 0
    task: str = ""
    attempt: int = 0

    def __str__(self) -> str:
        match self.kind:
            case "runs":
                return "runs" if self.dag is None else f"runs:dag={self.dag}"
            case "run":
                return f"run:{self.run}"
            case "log":
                return f"log:{self.run}/{self.task}/{self.attempt}"
            case _:
                return self.kind


def parse_topics(text: str) -> list[Topic]:
    """Topics with commas between them, each once; a refusal that names the one that is none."""
    topics = list(dict.fromkeys(_parse(part.strip()) for part in text.split(",") if part.strip()))
    if not topics:
        raise field_refusal("query/topics", "names no topic", hint=f"there are {listed(_FORMS)}")
    if len(topics) > TOPICS_PER_LISTENER_MAX:
        raise field_refusal(
            "query/topics",
            f"names {len(topics)} topics, and a listener has at most {TOPICS_PER_LISTENER_MAX}",
        )
    return topics


def _parse(text: str) -> Topic:
    kind, colon, rest = text.partition(":")
    match kind:
        case "queues" | "workers" | "dags" | "runs" if not colon:
            return Topic(kind)
        case "runs" if rest.startswith("dag=") and not name_problem(rest[4:]):
            return Topic("runs", dag=rest[4:])
        case "run" if (run := _number(rest)) is not None:
            return Topic("run", run=run)
        case "log":
            parts = rest.split("/")
            if len(parts) == 3 and not name_problem(parts[1]):
                run, attempt = _number(parts[0]), _number(parts[2], 2**31)
                if run is not None and attempt:
                    return Topic("log", run=run, task=parts[1], attempt=attempt)
    raise _unknown(text)


def _number(text: str, below: int = 2**63) -> int | None:
    if not text.isascii() or not text.isdigit() or len(text) > 19 or int(text) >= below:
        return None
    return int(text)


def _unknown(text: str) -> Refusal:
    return field_refusal(
        "query/topics", f"there is no topic {shown(text)}", hint=f"there are {listed(_FORMS)}"
    )
