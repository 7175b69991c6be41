"""How attempts run: in host children, never in the worker process.

    worker process                                        host child (one per snapshot and kind)
    hosts.py       which host takes which job             host.py      start-up, then one of
    pools.py       the hosts of one (kind, snapshot)        host_async.py    many coroutines
    host_link.py   one child: process, socket, log pipe     host_thread.py   a pool of threads
    guard_link.py  the guard's other end                    host_process.py  one task at a time
    verdicts.py    what a dead host means for its jobs       host_command.py  argument vectors
                                                          calls.py     import, call, encode
    both sides:  frames.py (messages)  board.py (shared   channel.py   the socket's other end
                 memory)  sessions.py (process trees)     logs.py      who printed what

`guard.py` is a third kind of process: it freezes the hosts when the worker's lease ends and
kills them when the worker is gone.
"""
