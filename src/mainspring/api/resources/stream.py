"""The stream: what changes, as it changes."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from mainspring.api.answers import Flow
from mainspring.api.calls import Call
from mainspring.api.resources.runs import dag_id_of
from mainspring.api.routes import Example, Resource
from mainspring.api.stream.flow import EventFlow
from mainspring.api.stream.topics import parse_topics
from mainspring.domain.roles import Role
from mainspring.store.stream_shapes import (
    Beat,
    DagsChanged,
    End,
    Listening,
    LogWritten,
    QueuesChanged,
    Resync,
    RunChanged,
    RunsChanged,
    WorkersChanged,
)

stream = Resource("stream", "What changes, as it changes.")

EVENTS = {
    "listening": Listening,
    "runs": RunsChanged,
    "run": RunChanged,
    "log": LogWritten,
    "queues": QueuesChanged,
    "workers": WorkersChanged,
    "dags": DagsChanged,
    "resync": Resync,
    "beat": Beat,
    "end": End,
}


class Listen(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    topics: Annotated[
        str,
        Meta(
            max_length=8000,
            description="`runs`, `runs:dag=NAME`, `run:ID`, `log:RUN/TASK/ATTEMPT`, `queues`,"
            " `workers`, `dags`: up to 32, with commas.",
        ),
    ]
    seconds: Annotated[
        float,
        Meta(ge=0, le=86_400, description="End after so long; 0: tell what is to be told now."),
    ] = 3600.0


@stream.get(
    "/stream",
    needs=Role.VIEWER,
    produces="text/event-stream",
    events=EVENTS,
    refusals=(404,),
    example=Example(query={"topics": "runs,queues", "seconds": "0"}),
)
async def listen(call: Call, query: Listen) -> Flow:
    """Changes of topics as server-sent events.

    First comes `listening`; then, of `run`, `queues`, `workers` and `dags`, how it stands; after
    that whatever changes: at most five events a second for each topic, with the last state of
    things. Of `runs` and `log`, read what there is over REST once `listening` has come, and put the
    events over it. `resync` says that changes of a topic were left out: of these two, read it
    again; of the others, all that there is follows. When there is nothing to tell, a `beat` comes
    every 15 seconds: who hears nothing for longer is cut off. A stream that broke off goes on where
    it was with `Last-Event-ID`.
    """
    topics = parse_topics(query.topics)
    for topic in topics:
        if topic.dag is not None:
            await call.services.read(dag_id_of, topic.dag)
    last_id = call.headers.get("last-event-id")
    listener = await call.services.hub.listen(call.caller.id, topics, last_id)
    return EventFlow(call.services.hub, listener, query.seconds)
