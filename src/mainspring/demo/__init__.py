"""`mainspring demo`: an installation full of life, to look around in.

A company that does not exist, with fifty dags and three months behind it. The past is made up by
`past.py`, which is pure, and stored by `storing.py` in the form in which finished runs are kept:
history, attempts, dead letters, the ledger of fires, rollups. So every view and every promise holds
of it as of a past that really was. What happens from then on is real: the dags in `dags` run, and
`living.py` plays the customers and colleagues who start things.

`habits.py` says how long each dag takes and how often it fails; the past and the present both ask
it.
"""
