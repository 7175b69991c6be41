"""The worker: claims tasks, has them run in host children, reports how they ended.

It never imports user code. One `Incarnation` is one lease; a worker that was reaped starts
another. Read `incarnation.py` first.
"""
