"""What a caller of the server may do.

viewer < operator < admin      look; act on runs, dags, jobs and queues; hand out tokens
worker                         the calls of a worker, for its queues, and nothing else
"""

from __future__ import annotations

from enum import StrEnum


class Role(StrEnum):
    VIEWER = "viewer"
    OPERATOR = "operator"
    ADMIN = "admin"
    WORKER = "worker"


_RANKS = {Role.VIEWER: 1, Role.OPERATOR: 2, Role.ADMIN: 3}


def allows(role: Role, needed: Role) -> bool:
    """Whether who has `role` may do what needs `needed`."""
    if Role.WORKER in (role, needed):
        return role is needed
    return _RANKS[role] >= _RANKS[needed]
