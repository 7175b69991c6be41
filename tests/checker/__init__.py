"""The checker: proves what was promised, from evidence that the system under test did not write.

It shares no code with Mainspring. What states there are, which moves are legal, how long a retry
rests: all of it is written down here a second time, by hand, from the published pages. A mistake
would have to be made twice to go unseen.

    evidence.py     the logs, and how they are written
    releases.py     the digest of a tree of code
    sinks.py        where tasks tell what they did: one sink takes everything, one is fenced
    journal.sql     triggers that note every move in the database
    journal.py      installs them, and reads what they noted
    rows.py         rows, as the schema has them
    tables.py       what the database says at the end
    definitions.py  what the dags ask for: graphs and policies
    states.py       the published tables of moves
    instants.py     when schedules should fire, by trying every second
    story.py        the journal, retold: who held which task from when until when
    blame.py        which faults account for what
    case.py         all of it together
    finding.py      what was found out about a promise
    promises/       one function for each promise
    check.py        asks them all; `python -m tests.checker` is its command

Nothing is imported here, so that tasks can use the sinks without the rest.
"""
