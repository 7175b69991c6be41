"""Notifiers: who is told when a run has ended. Ours are plug-ins like any other.

log.py        a line in the engine's log
webhook.py    a POST with JSON
telling.py    the child process in which they run, and the engine's end of it
"""
