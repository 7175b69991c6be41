"""For processes that supervise nothing: where the home is by default, and whether its server runs.

`find_running` reads and asks; it changes nothing. It answers None for a home without a server, and
for a server that is still starting or no longer supervised. A home that cannot be read is an error.
"""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

from mainspring.embedded.account import is_root
from mainspring.embedded.address import url_of
from mainspring.embedded.cluster import OUTLYING, Cluster
from mainspring.embedded.configuration import PRODUCT_DATABASE, PRODUCT_ROLE
from mainspring.embedded.home import Home
from mainspring.embedded.lock import is_held
from mainspring.embedded.probe import answers


def default_home() -> Path:
    """`MAINSPRING_HOME`, else a folder among the user's data."""
    chosen = os.environ.get("MAINSPRING_HOME")
    if chosen:
        return Path(chosen).expanduser().absolute()
    if is_root():
        return OUTLYING / "home"
    return platformdirs.user_data_path("mainspring", appauthor=False)


def find_running(home: Path) -> str | None:
    place = Home(home)
    marker = place.read()
    if marker is None or not is_held(place.path):
        return None
    socket_folder = Cluster(place, marker).socket
    if not answers(socket_folder, role=PRODUCT_ROLE, database=PRODUCT_DATABASE):
        return None
    return url_of(socket_folder)
