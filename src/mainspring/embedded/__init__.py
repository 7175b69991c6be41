"""The embedded PostgreSQL: the database when `MAINSPRING_DATABASE_URL` is not set.

A supervisor of our own around the programs of a wheel. Read `server.py` first, it is the main road;
then `home.py` and `cluster.py` for what lies where, `child.py` for how the server ends with us, and
`leftovers.py` for what an earlier one left.
"""

from mainspring.embedded.errors import EmbeddedError
from mainspring.embedded.lookup import default_home, find_running
from mainspring.embedded.removal import destroy
from mainspring.embedded.server import EmbeddedPostgres

__all__ = ["EmbeddedError", "EmbeddedPostgres", "default_home", "destroy", "find_running"]
