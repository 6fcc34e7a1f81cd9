"""Who is acting: the name that people read in ``locked_by`` and in the journal."""

import os
import socket


def me(role: str) -> str:
    """Return ``role@host:pid`` of this process."""
    return f"{role}@{socket.gethostname()}:{os.getpid()}"[:200]
