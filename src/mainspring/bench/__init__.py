"""The benchmark: real processes, a real PostgreSQL, and figures that name their yardstick.

    run.py        the main road: place, stage, scenario, verdict, for each repetition
    settings.py   what can be chosen
    place.py      the database: a throw-away one, or a given one that is treated with care
    team.py       an engine, workers and perhaps a server, started as users start them
    stage.py      all that a scenario needs: schema, team, connections
    yardstick.py  what the machine can do without us: the raw ceiling and a round trip
    http_load.py  who asks the server, over kept connections
    load.py       who makes the runs: a flood that keeps a queue full, or so many a second
    cpu.py        who used the processors, from /proc
    tables.py     all SQL: what is read off the tables, and how history is filled in
    lines.py      cron lines that make so many fires a second
    stored_schedules.py  schedules by the million, and their fires
    scenarios/    one file per scenario
    dags/         the dags they run
    figures.py    every figure: its words, its yardstick, its medians
    baseline.py   ratios that are kept, and what counts as a fall
    machine.py    where it was measured
    plot.py       lines of a plot in characters
    report.py     tables and plots for a terminal

Machines differ and neighbours are loud, so every figure stands beside a yardstick measured in the
same run, and CPU time per run is told besides the rate: it is the steadier of the two.
"""
