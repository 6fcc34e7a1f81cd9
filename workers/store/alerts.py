"""Raising alerts: one open alert per cause."""

import logging
from collections.abc import Sequence
from datetime import datetime

from workers.rules.rows import AlertCall
from workers.runtime.failpoints import around
from workers.runtime.storable_text import check, storable
from workers.store.db import dialect

log = logging.getLogger(__name__)

LONGEST_CODE = 60


@around("alerts.raise_alert")
def raise_alert(code: str, message: str, *, subject: str = "", now: datetime | None = None) -> None:
    """Raise an alert, once per code and subject until an operator acknowledges it.

    Raises ``BadText`` for a code of more than 60 characters.  What of the message and the subject
    no database holds is replaced: an alert is not to be lost for its words.
    """
    check("code", code, LONGEST_CODE)
    message = storable(message)
    log.warning("alert_raised", extra={"code": code, "reason": message})
    write([AlertCall(f"{code}:{subject}", code, message)], dialect.read_clock(now))


def write(calls: Sequence[AlertCall], at: datetime) -> None:
    """Raise alerts; one whose cause is open already is counted on the open one."""
    for call in calls:
        dialect.execute(
            "INSERT INTO workers_alert (cause, code, message, process_id, step_id, raised_at,"
            " last_raised_at, times, comment) VALUES (%s, %s, %s, %s, %s, %s, %s, 1, '')"
            " ON CONFLICT (cause) WHERE acknowledged_at IS NULL DO UPDATE SET"
            " times = workers_alert.times + %s, message = excluded.message,"
            " last_raised_at = excluded.last_raised_at",
            [
                storable(call.cause)[:200],
                call.code,
                storable(call.message),
                call.process_id,
                call.step_id,
                dialect.instant_text(at),
                dialect.instant_text(at),
                int(call.is_counted),
            ],
        )


def resolve(cause: str, at: datetime) -> None:
    """Note that a cause has ended, in the transaction of the caller that ended it."""
    text = dialect.instant_text(at)
    dialect.execute(
        "UPDATE workers_alert SET resolved_at = %s, acknowledged_at = COALESCE(acknowledged_at, %s)"
        " WHERE cause = %s AND resolved_at IS NULL",
        [text, text, cause],
    )
