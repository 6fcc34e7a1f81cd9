"""The ids of new processes, with which their idempotency keys begin."""

from collections.abc import Sequence
from hashlib import sha256
from uuid import UUID

from uuid_utils.compat import uuid7

from workers.store import installation
from workers.store.db import dialect


def uids(submission_keys: Sequence[str]) -> list[UUID]:
    """Return the id of each process to create, in order; an empty key: a new id.

    The id of a submission key is made from the key and the ordinal of its use.  After a restore
    that has lost a process, the same submission gets the same id, so services see the idempotency
    keys of the calls that they have answered, and nothing happens twice.
    """
    # Others are ordered by time, so that live processes share pages of the index.
    if not any(submission_keys):
        return [uuid7() for _ in submission_keys]
    place = str(installation.own_id() or "")
    ordinals = dict.fromkeys(submission_keys, 0)
    made = []
    for key in submission_keys:
        ordinals[key] = _unused(place, key, ordinals[key] + 1) if key else 0
        made.append(_uid(place, key, ordinals[key]) if key else uuid7())
    return made


def _unused(place: str, key: str, ordinal: int) -> int:
    """Return the ordinal of the next use of a key."""
    while True:
        uid = _uid(place, key, ordinal)
        params = [uid if dialect.is_postgres() else uid.hex]
        if not dialect.fetch("SELECT 1 FROM workers_process WHERE uid = %s", params):
            return ordinal
        ordinal += 1


def _uid(place: str, key: str, ordinal: int) -> UUID:
    # Another installation may use the same submission keys at the same services.
    number = int.from_bytes(sha256(f"{place} {ordinal} {key}".encode()).digest()[:16])
    # Version 8, whose bits mean what its maker says (RFC 9562).
    number = number & ~(0xF << 76) & ~(0x3 << 62) | 0x8 << 76 | 0x2 << 62
    return UUID(int=number)
