"""Models: features, training, scores."""

from typing import Literal

from mainspring import RetryPolicy, Schedule, TaskDefaults, dag, task
from mainspring.demo.acting import act

RETRIES = TaskDefaults(retry=RetryPolicy(attempts=2, first="30s"))


@task
async def extract_features() -> int:
    return await act("extracting", 400_000)


@task
async def join_features(rows: int) -> int:
    return await act("joining", rows)


@task
async def store_features(rows: int) -> int:
    return await act("storing", rows)


@dag(
    tags=["ml", "features"],
    owner="data science",
    defaults=RETRIES,
    schedule="40 * * * *",
    overlap="skip",
)
def features() -> None:
    """What models know of customers and goods, once an hour."""
    store_features(join_features(extract_features()))


@task
async def prepare(model: str) -> int:
    """Choose what to learn from."""
    return await act(f"preparing data for {model}", 80_000)


@task(queue="gpu", timeout="2h")
async def train(rows: int, epochs: int) -> str:
    return await act("training", "weights-3f")


@task(queue="gpu")
async def evaluate(weights: str) -> float:
    return await act("evaluating", 0.91)


@task  # new
async def compare_with_last(quality: float) -> float:  # new
    """Worse than yesterday's is not used."""  # new
    return await act("comparing with the last one", quality)  # new


@task
async def release(quality: float) -> str:
    """The shop uses it from here on."""
    return await act("releasing", f"quality {quality}")


MODELS = {"recommendations": "30 1", "churn": "0 3", "demand": "15 0", "ranking": "45 2"}

for model, minute_and_hour in MODELS.items():

    @dag(
        name=f"train_{model}",
        description=f"Train the model for {model} anew.",
        tags=["ml", "training"],
        owner="data science",
        defaults=RETRIES,
        timeout="4h",
        schedule=Schedule(f"{minute_and_hour} * * *", parameters={"model": model}),
    )
    def training(
        model: str,
        epochs: int = 12,
        learning_rate: float = 0.001,
        optimizer: Literal["adam", "lion", "sgd"] = "adam",
    ) -> None:
        quality = evaluate(train(prepare(model), epochs))
        quality = compare_with_last(quality)  # new
        release(quality)


@task
async def score_all(model: str) -> int:
    return await act("scoring", 240_000)


@task
async def write_scores(rows: int) -> int:
    return await act("writing scores", rows)


@dag(
    tags=["ml", "scores"],
    owner="data science",
    defaults=RETRIES,
    schedule="0 6 * * *",
    timezone="Europe/Berlin",
)
def score_customers(model: str = "churn") -> None:
    """Who might leave, each morning."""
    write_scores(score_all(model))


@task(queue="gpu_lab")
async def try_out(layers: int, learning_rate: float) -> float:
    return await act("trying out", 0.5)


@dag(tags=["ml", "experiment"], owner="research")
def vision_experiment(layers: int = 24, learning_rate: float = 0.0003) -> None:
    """Tell goods apart by their pictures."""
    try_out(layers, learning_rate)
