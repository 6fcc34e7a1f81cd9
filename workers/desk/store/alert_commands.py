"""Commands of operators on an alert."""

from datetime import datetime

from workers.rules.rows import Entry
from workers.runtime import storable_text
from workers.runtime.failpoints import durable
from workers.store import journal
from workers.store.db import dialect


def acknowledge(
    alert_id: int,
    user_id: int,
    comment: str = "",
    *,
    actor: str,
    now: datetime | None = None,
) -> bool:
    """Acknowledge an alert.  False: it is acknowledged already; nothing was changed."""
    storable_text.check_all(comment=comment, actor=actor)
    with durable("alert_commands.acknowledge"):
        at = dialect.read_clock(now)
        rows = dialect.fetch(
            "UPDATE workers_alert SET acknowledged_at = %s, acknowledged_by_id = %s, comment = %s"
            " WHERE id = %s AND acknowledged_at IS NULL RETURNING process_id, code",
            [dialect.instant_text(at), user_id, comment, alert_id],
        )
        for process_id, code in rows:
            detail = {"alert": alert_id, "code": code, **({"reason": comment} if comment else {})}
            journal.write([Entry(process_id, "alert_acknowledged", actor, detail=detail)], at)
    return bool(rows)
