"""The gateway: serves any number of remote workers over a few database connections.

sets.py      calls of many workers become one statement: one loop for each kind of call
hands.py     who the workers are and what they hold: a memory that can be asked again
waiting.py   claims that wait for tasks, served in turn
work.py      tasks with their arguments, for workers that read no specs
queues.py    no worker serves more than its token is for
gateway.py   the calls themselves; `api/resources/remote_workers.py` has them over HTTP

It makes no promise of its own. Whatever it forgets, in a crash or because another server was
asked, is in the database; whatever a worker repeats, because an answer was lost, is fenced there.
"""
