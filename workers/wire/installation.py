"""The id of this installation, cached in this process."""

import logging
import time

from django.db import DEFAULT_DB_ALIAS, connections

from workers.store import installation

log = logging.getLogger(__name__)

#: The message header with the installation's id.
HEADER = "sas_installation"
#: How often the row is read again: a database that moved has another id.
FRESH_SECONDS = 60.0
#: How often while it cannot be read.
RETRY_SECONDS = 1.0


class _CachedId:
    """The id that was read last, and when to read it again."""

    def __init__(self) -> None:
        self.id: str | None = None
        self.read_again_at = 0.0


_cached = _CachedId()


def own_id() -> str | None:
    """Return this installation's id; None: it could not be read yet.

    Reads it once a minute, and never raises: while the database is unavailable, the last id holds.
    """
    now = time.monotonic()
    if now >= _cached.read_again_at:
        # Set this first, because other threads may call, too.
        _cached.read_again_at = now + RETRY_SECONDS
        if (new_id := _read()) is not None:
            _cached.id, _cached.read_again_at = new_id, now + FRESH_SECONDS
    return _cached.id


def forget() -> None:
    """Read the row again at the next call."""
    _cached.id, _cached.read_again_at = None, 0.0


def _read() -> str | None:
    connection = connections[DEFAULT_DB_ALIAS]
    if connection.in_atomic_block:
        # A failure would break the whole transaction.
        return None
    was_open = connection.connection is not None
    try:
        row_id = installation.own_id()
    except Exception:
        log.debug("installation_unknown", exc_info=True)
        return None
    finally:
        # A thread that only sends does not need its connection kept.
        if not was_open:
            connection.close()
    return None if row_id is None else str(row_id)
