"""Server-sent events: what changes, told to those who listen.

topics.py     what can be listened to, and its name
ring.py       the newest events of a topic, for those who come back
listeners.py  one who listens: a bounded queue, and what happens when it is slow
watches.py    how the changes of each kind of topic are found: read once for all who listen
hub.py        the topics of this server, its listeners, and the loop that looks for changes
flow.py       the answer that goes on: from a listener's queue to its connection

Nothing is written for listeners, and nothing is read when there are none: see decision 0025.
"""
