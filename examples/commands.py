"""Commands: programs as tasks, without a shell.

    mainspring dag trigger commands --wait
    mainspring dag trigger commands -p folder=/usr/lib --wait
    mainspring run logs last                       # what the programs print

A task with `executor="command"` returns a program and its arguments. They go to the program as
they are: a folder called `; rm -rf ~` is a strange folder and nothing else. What it prints is the
log, the last line of it the result, and any exit status but 0 a failure.
"""

from mainspring import dag, task
from mainspring.operators import command, shell


@task(executor="command", timeout="1m")
def measure(folder: str) -> list[str]:
    """How much is in a folder. `--` ends the options, whatever the folder is called."""
    return ["du", "-s", "-k", "--", folder]


# If you need a shell, say so. Which attempt it is stands in the program's environment.
WHO_AM_I = 'echo "run $MAINSPRING_RUN_ID, task $MAINSPRING_TASK, attempt $MAINSPRING_ATTEMPT"'


@task
def report(measured: str, system: str) -> str:
    """A result of a command is text: `du` prints a number and the folder."""
    kilobytes, _, folder = measured.partition("\t")
    return f"{folder} on {system}: {int(kilobytes):,} kB"


@dag(tags=["example"])
def commands(folder: str = "/usr/bin") -> None:
    """Ask three programs, and read what they say."""
    # A command that needs no code of yours is drawn right here. So is a request: `http(…)`.
    system = command(["uname", "-s"], name="name_system")
    shell(WHO_AM_I, name="who_am_i") >> report(measure(folder), system)
