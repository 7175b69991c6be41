"""For tests of your own dags and applications.

    run_dag                a run in this process, without a database, in virtual time
    tasks_of, edges_of     a dag's graph by names, to be asserted on
    Lost, TimedOut         ends that a test can give to a task, beside exceptions

The fixture `mainspring`, with a database and real processes, comes by itself with pytest:
`pytest_plugin.py`. Nothing else in the package imports this.

    running.py    `run_dag`: what is given, checked; then one attempt after the other
    attempts.py   one attempt: fakes, arguments, the call, its end as an outcome
    clock.py      the time of an attempt, which passes only by sleeping
    logs.py       what an attempt prints
    results.py    what a run has come to
    graphs.py     the graph by names
    server.py     PostgreSQL for a session of tests, a database for each
    stage.py      an engine and a worker on such a database: what the fixture gives
"""

from mainspring.testing.attempts import Lost, TimedOut
from mainspring.testing.graphs import edges_of, tasks_of
from mainspring.testing.results import AttemptResult, RunResult, TaskResult
from mainspring.testing.running import run_dag

__all__ = [
    "AttemptResult",
    "Lost",
    "RunResult",
    "TaskResult",
    "TimedOut",
    "edges_of",
    "run_dag",
    "tasks_of",
]
