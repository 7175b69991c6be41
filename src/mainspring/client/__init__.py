"""How applications and the command line speak to Mainspring: start runs, wait for them, stop them.

Today over SQL, beside the database; the same calls over HTTP come with the API.
"""

from mainspring.client.client import Client

__all__ = ["Client"]
