"""That somebody was shown personal data: in the journal, like every act of an operator."""

from datetime import datetime

from workers.rules.rows import Entry
from workers.runtime import storable_text
from workers.runtime.failpoints import durable
from workers.store import journal
from workers.store.db import dialect


def record(
    what: str, *, actor: str, process_id: int | None = None, now: datetime | None = None
) -> None:
    """Journal that ``actor`` was shown the personal data of ``what``.

    A submitter is not told of it: the row has no sequence number, and takes no lock.
    """
    storable_text.check_all(what=what, actor=actor)
    with durable("showings.record"):
        entry = Entry(
            process_id=process_id, event="personal_shown", actor=actor, detail={"what": what}
        )
        journal.write([entry], dialect.read_clock(now))
