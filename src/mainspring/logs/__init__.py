"""Logs, wherever they are: the database while they are written, an object store afterwards.

frames.py    how a long log is compressed, so that any part can be read alone
places.py    which object stores there are, opened when they are needed
read.py      LogReader: by byte range, the same from both places
move.py      one log from the database to an object; objects that nobody needs any more
"""
