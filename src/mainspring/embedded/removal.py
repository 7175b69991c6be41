"""Delete a home's database for good: tests, benchmarks, and people who mean it.

Deletes what this package made, wherever it lies, and the home itself if nothing else is in it. A
folder that is not a home, or whose server is supervised, is refused untouched. The marker goes last
in every order, so a deletion that was cut short can be repeated.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path

from mainspring.embedded import leftovers
from mainspring.embedded.cluster import Cluster
from mainspring.embedded.errors import EmbeddedError
from mainspring.embedded.home import Home
from mainspring.embedded.lock import HomeLock


def destroy(home: Path) -> None:
    place = Home(home)
    lock = HomeLock(place.path)
    try:
        if not place.exists():
            return
        place.check()
        lock.acquire()
        marker = place.read()
        if marker is not None:
            _delete_cluster(Cluster(place, marker))
        place.delete_if_empty(lock)
    except OSError as error:
        raise EmbeddedError(
            f"cannot delete the embedded PostgreSQL of {place.path}: {error}",
            hint="what is left is still marked as ours: mend the cause and repeat",
        ) from error
    finally:
        lock.release()


def _delete_cluster(cluster: Cluster) -> None:
    if os.path.lexists(cluster.folder):
        cluster.check_folder()
    if os.path.lexists(cluster.data):
        leftovers.end_server(cluster.data, cluster.configuration)
        leftovers.end_backends(cluster.data, signal.SIGKILL)
    cluster.delete()
