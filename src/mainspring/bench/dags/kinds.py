"""Tasks that do nothing, in processes, in threads and as commands."""

from mainspring import dag, task


@task(queue="bench")
def in_process(x: int) -> int:
    return x


@task(queue="bench", executor="thread")
def in_thread(x: int) -> int:
    return x


@task(queue="bench", executor="command")
def as_command(x: int) -> list[str]:
    return ["true", str(x)]


@dag
def bench_process(x: int = 0) -> None:
    in_process(x)


@dag
def bench_thread(x: int = 0) -> None:
    in_thread(x)


@dag
def bench_command(x: int = 0) -> None:
    as_command(x)
