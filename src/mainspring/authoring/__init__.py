"""The author's side: tasks, dags, and how a host child calls them. Nothing here runs a dag.

    tasks      `@task`: a function and how it is to be run
    dags       `@dag`: a function that draws a graph by calling tasks
    drawing    the graph while it is drawn, and the stand-ins for values that are not known yet
    retries    `RetryPolicy`
    defaults   `TaskDefaults`, and the options that a task and its dag may both give
    context    `context()`: what a task may know of the attempt that it runs in
    commands   `Command`: what a task that runs a program may return
    logger     `context().log`
    ends       `Retry`, `Fail`, `Skip`: what a task may raise to say how it ended
    signatures what a function takes
    options    checks of what authors write beside it
    calling    for host children: from an entry and JSON to a call, from its end to an `Outcome`

The public names are those of `mainspring` itself.
"""
