"""All resources of the server, in the order in which its documents tell of them."""

from __future__ import annotations

from collections.abc import Sequence

from mainspring.api.resources.backfills import backfills
from mainspring.api.resources.calendars import calendars
from mainspring.api.resources.care import care
from mainspring.api.resources.engines import engines
from mainspring.api.resources.fires import fires
from mainspring.api.resources.grid import grid
from mainspring.api.resources.jobs import jobs
from mainspring.api.resources.many_runs import runs
from mainspring.api.resources.operations import operations
from mainspring.api.resources.queues import queues
from mainspring.api.resources.redriving import dead_letters
from mainspring.api.resources.remote_workers import remote_workers
from mainspring.api.resources.schedules import schedules
from mainspring.api.resources.stats import stats
from mainspring.api.resources.stream import stream
from mainspring.api.resources.tokens import tokens
from mainspring.api.resources.workers import workers
from mainspring.api.resources.written_dags import dags
from mainspring.api.routes import Resource, Route

RESOURCES: Sequence[Resource] = (
    dags,
    jobs,
    runs,
    grid,
    schedules,
    calendars,
    fires,
    backfills,
    dead_letters,
    stats,
    queues,
    workers,
    remote_workers,
    stream,
    engines,
    tokens,
    care,
    operations,
)
ROUTES: Sequence[Route] = [route for resource in RESOURCES for route in resource.routes]
