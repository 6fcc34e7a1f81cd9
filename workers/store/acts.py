"""What people do where no other row of the journal tells it: shown, exported, sent again."""

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
    """Journal what somebody did, in the transaction of the caller if there is one.

    ``actor`` is ``operator:NAME`` of a person: the audit shows what begins so.  A submitter is not
    told of it: the row has no sequence number, and takes no lock.
    """
    storable_text.check_all(actor=actor)
    storable_text.check_value("detail", dict(detail or {}))
    known = {name: value for name, value in (detail or {}).items() if value not in ("", None)}
    with durable("acts.record_act"):
        entry = Entry(process_id=process_id, event=event, actor=actor, detail=known)
        journal.write([entry], dialect.read_clock(now))
