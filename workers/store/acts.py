"""Journal acts of people that have no other row: shown, exported, sent again."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from workers.rules.rows import Entry
from workers.runtime import storable_text
from workers.runtime.failpoints import durable
from workers.store import journal
from workers.store.db import dialect


def record_act(
    event: str,
    detail: Mapping[str, Any] | None = None,
    *,
    actor: str,
    process_id: int | None = None,
    now: datetime | None = None,
) -> None:
    """Journal what a person did, in the caller's transaction if there is one.

    ``actor`` is ``operator:NAME`` for a person: the audit shows actors with that prefix.
    Submitters are not told of it: the row has no sequence number.  Takes no lock.
    """
    storable_text.check_all(actor=actor)
    storable_text.check_value("detail", dict(detail or {}))
    values = {name: value for name, value in (detail or {}).items() if value not in ("", None)}
    with durable("acts.record_act"):
        entry = Entry(process_id=process_id, event=event, actor=actor, detail=values)
        journal.write([entry], dialect.read_clock(now))
