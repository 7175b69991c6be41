"""A flaky task: what fails is tried again, as often and as late as you say.

    mainspring dag trigger flaky --wait
    mainspring run show last                       # all attempts, with their errors
    mainspring dag trigger flaky -p weather=stormy # fails for good
    mainspring run why last
    mainspring run rerun last                      # tries again what failed, in the same run

Retries cost no slot: between two attempts a task only has a row that says when it is due.
"""

from mainspring import Fail, Retry, RetryPolicy, context, dag, task


class WrongPassword(Exception):
    pass


@task(
    # Up to four attempts; rests of 1 s, 2 s, 4 s, and up to a tenth of each less, by chance, so
    # that tasks which failed together do not come back together.
    retry=RetryPolicy(attempts=4, first="1s", factor=2, cap="1m", give_up_on=WrongPassword),
    # One attempt may take 10 s. One that takes longer is stopped, and counts as failed.
    timeout="10s",
)
def call_service(weather: str) -> str:
    """Ask a service that hangs up on the first two calls."""
    attempt = context().attempt
    if weather == "stormy":
        # Hopeless: no other attempt, whatever the policy says. `give_up_on` does the same for
        # exceptions that are raised elsewhere.
        raise Fail("the line is down")
    if attempt == 1:
        raise ConnectionError("the service hung up")
    if attempt == 2:
        # The service knows better than the policy when to come back.
        raise Retry("the service asked us to wait", after="1500ms")
    return f"it answered at attempt {attempt}"


@task(retries=1)
def store(answer: str) -> str:
    """`retries=1` is short for a policy with one attempt more.

    Ask yourself what happens if this runs twice. The key is the same for all attempts of this
    task in this run: give it to whatever must do its work only once.
    """
    return f"{answer}; stored under {context().idempotency_key}"


@dag(tags=["example"], timeout="10m")
def flaky(weather: str = "fair") -> None:
    """Ask a service that hangs up, until it answers."""
    store(call_service(weather))
