"""When a request is sent again."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mainspring.http.requests import Reply, Request
from mainspring.http.retrying import (
    DELAY_SECONDS_MAX,
    RETRY_AFTER_SECONDS_MAX,
    Loss,
    after_loss,
    after_reply,
    is_repeatable,
)

METHODS = st.sampled_from(["GET", "POST", "PUT", "PATCH", "DELETE"])
HEADERS = st.dictionaries(
    st.sampled_from(["Idempotency-Key", "If-Match", "If-None-Match"]), st.just("x")
)
REQUESTS = st.builds(Request, METHODS, st.just("/"), HEADERS)
TRIES = st.integers(1, 1000)


@given(REQUESTS, TRIES)
def test_what_was_not_sent_is_always_sent_again(request: Request, tries: int) -> None:
    assert after_loss(request, Loss.NOT_SENT, tries) is not None


@given(REQUESTS, TRIES)
def test_what_may_have_been_done_is_sent_again_only_if_twice_is_as_good_as_once(
    request: Request, tries: int
) -> None:
    again = after_loss(request, Loss.UNKNOWN, tries) is not None
    assert again == is_repeatable(request)
    if request.method in ("PATCH", "DELETE"):
        assert not again
    if request.method == "POST":
        assert again == ("Idempotency-Key" in request.headers)
    if "If-Match" in request.headers and request.method == "PUT":
        assert not again


@given(REQUESTS, st.integers(200, 599), TRIES, st.none() | st.text() | st.integers(0, 10**12))
def test_an_answer_is_final_unless_the_server_had_no_time(
    request: Request, status: int, tries: int, wished: str | int | None
) -> None:
    headers = {} if wished is None else {"retry-after": str(wished)}
    rest = after_reply(request, Reply(status, headers), tries)
    if status in (429, 503):
        assert rest is not None
    elif status == 409:
        assert (rest is not None) == (wished is not None)
    elif status in (502, 504):
        assert (rest is not None) == is_repeatable(request)
    else:
        assert rest is None
    if rest is not None:
        assert 0 < rest <= max(DELAY_SECONDS_MAX, RETRY_AFTER_SECONDS_MAX)
        if isinstance(wished, int) and status in (409, 429, 503):
            assert rest >= min(wished, RETRY_AFTER_SECONDS_MAX) or wished >= 10**8
