"""Parts of the stream that need no server: names of topics, and the ring of a topic."""

from __future__ import annotations

import string

from hypothesis import given
from hypothesis import strategies as st

from mainspring.api.stream.ring import BYTES_MAX, EVENTS_MAX, Ring
from mainspring.api.stream.topics import Topic, parse_topics

NAMES = st.text(string.ascii_letters + string.digits + "_-", min_size=1, max_size=200)
IDS = st.integers(0, 2**63 - 1)
TOPICS = st.one_of(
    st.sampled_from([Topic("runs"), Topic("queues"), Topic("workers"), Topic("dags")]),
    st.builds(lambda dag: Topic("runs", dag=dag), NAMES),
    st.builds(lambda run: Topic("run", run=run), IDS),
    st.builds(
        lambda run, task, attempt: Topic("log", run=run, task=task, attempt=attempt),
        *(IDS, NAMES, st.integers(1, 2**31 - 1)),
    ),
)


@given(st.lists(TOPICS, min_size=1, max_size=32))
def test_topics_are_read_as_they_are_written(topics: list[Topic]) -> None:
    assert parse_topics(",".join(map(str, topics))) == list(dict.fromkeys(topics))


@given(
    after=st.integers(0, 10),
    sizes=st.lists(st.sampled_from([1, 10, BYTES_MAX // 3, BYTES_MAX + 1]), max_size=30),
    asked=st.integers(0, 60),
)
def test_a_ring_gives_all_events_since_or_says_that_it_cannot(
    after: int, sizes: list[int], asked: int
) -> None:
    ring, all_events = Ring(after), []
    for place, size in enumerate(sizes):
        event = (after + 1 + 2 * place, b"x" * size)
        ring.put(*event)
        all_events.append(event)
    found = ring.since(asked)
    wanted = [event for event in all_events if event[0] > asked]
    if found is not None:
        assert found == wanted
        assert asked >= after
    else:
        too_much = sum(map(len, (event for _, event in wanted))) > BYTES_MAX
        assert asked < after or too_much or len(wanted) > EVENTS_MAX
