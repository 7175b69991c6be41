"""What Mainspring relies on, by its conformance kit, and what this package promises itself."""

from mainspring_polite.schedule import QuietNights

from mainspring import task
from mainspring.operators import pack_folder
from mainspring.testing.conformance import check_executor, check_operator, check_schedule


@task(executor="polite")
def succeeds() -> list[str]:
    return ["sh", "-c", "nice"]


@task(executor="polite")
def fails() -> list[str]:
    return ["sh", "-c", "echo no >&2; exit 3"]


@task(executor="polite")
def lasts() -> list[str]:
    return ["sleep", "1000"]


def test_polite_is_an_executor() -> None:
    check_executor(succeeds=succeeds, fails=fails, lasts=lasts)


def test_pack_folder_is_an_operator() -> None:
    spec = check_operator(pack_folder, "/var/data", to="data.tar.gz", name="pack", retries=2)
    assert spec.tasks[0].name == "pack"
    assert spec.tasks[0].retry.attempts == 3


def test_quiet_is_a_schedule() -> None:
    nights = check_schedule(QuietNights, "23:00 Europe/London", wrong_address="late")
    assert {night.weekday() for night in nights if night.month < 12} == {4, 5}
