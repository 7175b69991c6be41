"""What remote workers and the gateway say to each other: `docs/reference/worker-protocol.md`.

Every message is JSON, or MessagePack if the content type says so. Ids of workers and claims are
made by the worker, so that a call whose answer was lost is simply made again. Bounds are checked
here, before anything is put into a set with what others ask.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

import msgspec

from mainspring.domain.draining import Drain
from mainspring.domain.lanes import SlotKind
from mainspring.domain.outcomes import Outcome
from mainspring.domain.specs import DagSpec
from mainspring.domain.uses import Use
from mainspring.store.attempts import Claimed

JSON = "application/json"
MSGPACK = "application/msgpack"

SLOTS_MAX = 100_000
CLAIM_TASKS_MAX = 500
ENDS_MAX = 1_000
CHUNKS_MAX = 1_000
READS_MAX = 1_000
WAIT_SECONDS_MAX = 30.0

Id = Annotated[int, msgspec.Meta(ge=1, le=2**63 - 1)]
SmallId = Annotated[int, msgspec.Meta(ge=1, le=2**31 - 1)]
Term = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
Micros = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
Name = Annotated[str, msgspec.Meta(min_length=1, max_length=250, pattern=r"^[^\x00-\x1f]+$")]
_NO_NUL = r"^[^\x00]*$"
Text = Annotated[str, msgspec.Meta(max_length=1000, pattern=_NO_NUL)]
Slots = dict[SlotKind, Annotated[int, msgspec.Meta(ge=0, le=SLOTS_MAX)]]


class Join(msgspec.Struct, frozen=True, kw_only=True):
    name: Name
    queues: Annotated[list[Name], msgspec.Meta(min_length=1, max_length=1000)]
    """`["*"]`: all that the token allows, also those that come later."""
    slots: Slots
    host: Annotated[str, msgspec.Meta(max_length=250, pattern=_NO_NUL)] = ""
    pid: Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)] = 0
    lease_seconds: Annotated[float, msgspec.Meta(ge=1, le=300)] = 15.0
    drain: Drain | None = None
    """What it was asked to do when it had a lease before, which it lost."""


class Joined(msgspec.Struct, frozen=True):
    id: int
    lease_seconds: float
    renew_seconds: float


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """A claim: for so many free slots, and how long to wait for the first task."""

    claim: UUID
    slots: Slots
    wait_seconds: Annotated[float, msgspec.Meta(ge=0, le=WAIT_SECONDS_MAX)] = 0.0
    prepared: bool = False
    """Whether each task comes with its names and arguments, as `work`."""


class Work(msgspec.Struct, frozen=True):
    """A task for who does not read specs: what it is called, and its arguments."""

    dag: str
    task: str
    kind: SlotKind
    entry: str
    arguments: Any
    timeout_seconds: float | None


class Tasks(msgspec.Struct, frozen=True):
    tasks: list[Claimed]
    work: list[Work] = []
    """In the order of the tasks, if it was asked for."""


class Beat(msgspec.Struct, frozen=True, kw_only=True):
    claims: Annotated[list[UUID], msgspec.Meta(max_length=SLOTS_MAX)] = []
    """All that are in hand, and those asked for and not answered yet."""
    draining: bool = False
    rates: Annotated[
        dict[SmallId, Annotated[float, msgspec.Meta(ge=0, le=1e9)]], msgspec.Meta(max_length=1000)
    ] = {}
    """How many attempts ended per second, by lane; shown as what their queues get through."""


class Stop(msgspec.Struct, frozen=True):
    task: int
    term: int
    kind: str


class Renewed(msgspec.Struct, frozen=True):
    now: datetime
    stops: list[Stop]
    drain: Drain | None = None
    """Claim no more, as nothing would be given: until it is null again, or then leave (`stop`)."""
    unknown: list[UUID] = []
    """Claims that the worker has not named. Those that it does not know by now it hands back."""


class End(msgspec.Struct, frozen=True, kw_only=True):
    """How one attempt ended."""

    task: Id
    term: Term
    outcome: Outcome
    started_us: Micros | None = None
    finished_us: Micros | None = None
    chained: bool = False
    """Whether children may be granted to this worker."""
    use: Use | None = None
    """What it used of its machine, if that is known."""


class Offer(msgspec.Struct, frozen=True):
    """Free slots for children, and the claim that they would be under."""

    claim: UUID
    slots: Slots


class Ends(msgspec.Struct, frozen=True, kw_only=True):
    ends: Annotated[list[End], msgspec.Meta(max_length=ENDS_MAX)]
    offer: Offer | None = None
    prepared: bool = False


class Refused(msgspec.Struct, frozen=True):
    task: int
    term: int
    reason: str
    """`already_yours`: it was accepted before. `superseded`: it is no longer this worker's."""


class Ended(msgspec.Struct, frozen=True):
    refused: list[Refused]
    granted: Tasks


class Chunk(msgspec.Struct, frozen=True):
    task: Id
    term: Term
    start: Annotated[int, msgspec.Meta(ge=0, le=2**53)]
    content: bytes
    """Base64 in JSON. Empty: what came next is lost."""


class Chunks(msgspec.Struct, frozen=True):
    chunks: Annotated[list[Chunk], msgspec.Meta(max_length=CHUNKS_MAX)]


class Started(msgspec.Struct, frozen=True):
    task: Id
    term: Term
    started_us: Micros


class TaskProgress(msgspec.Struct, frozen=True):
    task: Id
    term: Term
    percent: Annotated[float, msgspec.Meta(ge=0, le=100)]
    text: Text = ""


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """Signs of life of tasks that last."""

    started: Annotated[list[Started], msgspec.Meta(max_length=SLOTS_MAX)] = []
    progress: Annotated[list[TaskProgress], msgspec.Meta(max_length=SLOTS_MAX)] = []


class Return(msgspec.Struct, frozen=True, kw_only=True):
    """Claims to hand back as a whole, uncharged."""

    claims: Annotated[list[UUID], msgspec.Meta(max_length=1000)]
    reason: Text = ""
    begun: Annotated[list[tuple[Id, Term]], msgspec.Meta(max_length=1000)] = []
    """(task, term) of what has started and may not start again if its author says so."""


class Read(msgspec.Struct, frozen=True, kw_only=True):
    """What tasks in hand are made of."""

    versions: Annotated[list[SmallId], msgspec.Meta(max_length=READS_MAX)] = []
    schedules: Annotated[list[SmallId], msgspec.Meta(max_length=READS_MAX)] = []
    snapshots: Annotated[list[SmallId], msgspec.Meta(max_length=READS_MAX)] = []
    results: Annotated[list[Id], msgspec.Meta(max_length=READS_MAX)] = []
    """Of these tasks."""
    parameters: Annotated[list[Id], msgspec.Meta(max_length=READS_MAX)] = []
    """Of these runs, if they are large."""


class Found(msgspec.Struct, frozen=True, kw_only=True):
    versions: dict[int, DagSpec] = {}
    schedules: dict[int, str] = {}
    snapshots: dict[int, str] = {}
    results: dict[int, bytes | None] = {}
    parameters: dict[int, bytes] = {}


class Note(msgspec.Struct, frozen=True):
    """The answer to who waits for notes."""

    renew: bool
    """Renew now: something in hand is to stop, or the worker is to drain or to go on."""


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """Why a call was not done (RFC 9457)."""

    status: int
    code: str
    detail: str
    hint: str = ""


REAPED = "reaped"
"""The code of 410: the worker's lease is gone, and with it all that it held."""
