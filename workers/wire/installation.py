"""The id of this installation, as this process knows it."""

import logging
import time

from django.db import DEFAULT_DB_ALIAS, connections

from workers.store import installation

log = logging.getLogger(__name__)

#: The header of a message that says whose it is.
HEADER = "sas_installation"
#: The row is read again so often: a database that moved has another id.
FRESH_SECONDS = 60.0
#: And so often while it cannot be read.
RETRY_SECONDS = 1.0


class _Known:
    """What the row said last, and when it is to be read again."""

    def __init__(self) -> None:
        self.id: str | None = None
        self.read_again_at = 0.0


_known = _Known()


def own_id() -> str | None:
    """Return this installation's id; None: the database has not told it yet.

    Asks the database once a minute, and never raises: while it is away the last answer holds.
    """
    now = time.monotonic()
    if now >= _known.read_again_at:
        # At once, for other threads ask, too.
        _known.read_again_at = now + RETRY_SECONDS
        if (read := _read()) is not None:
            _known.id, _known.read_again_at = read, now + FRESH_SECONDS
    return _known.id


def forget() -> None:
    """Have the row read again at the next question."""
    _known.id, _known.read_again_at = None, 0.0


def _read() -> str | None:
    connection = connections[DEFAULT_DB_ALIAS]
    if connection.in_atomic_block:
        # A failure would be the whole transaction's.
        return None
    was_open = connection.connection is not None
    try:
        found = installation.own_id()
    except Exception:
        log.debug("installation_unknown", exc_info=True)
        return None
    finally:
        # A thread that only sends has no use for a connection.
        if not was_open:
            connection.close()
    return None if found is None else str(found)
