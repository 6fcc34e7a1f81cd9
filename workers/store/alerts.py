"""Raise alerts: one open alert per cause.

An alert is a code with parameters; its text is made when it is read.
"""

import logging
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from workers.rules.rows import AlertCall
from workers.runtime.failpoints import around
from workers.runtime.repeated_lines import RepeatedLines
from workers.runtime.storable_text import check, storable, storable_value
from workers.store.db import dialect

log = logging.getLogger(__name__)

LONGEST_CODE = 60
_lines = RepeatedLines()


@around("alerts.raise_alert")
def raise_alert(
    code: str,
    message: str = "",
    *,
    params: Mapping[str, Any] | None = None,
    subject: str = "",
    process_id: int | None = None,
    now: datetime | None = None,
) -> None:
    """Raise an alert, once per code and subject until an operator acknowledges it.

    With ``process_id`` it is on the page of that process, and counts its worth.

    ``params`` (JSON) fill the message of the code's ``AlertKind`` when it is read, in the reader's
    language; a ``message`` is shown as it is.  Raises ``BadText`` for a code of more than 60
    characters.  Other text that no database holds is replaced, so that no alert is lost for its
    words.  This process logs each cause once in five minutes; the row is written every time.
    """
    check("code", code, LONGEST_CODE)
    params = {**(params or {}), **({"text": message} if message else {})}
    cause = f"{code}:{subject}"
    # While its cause lasts, an alert may be raised every few seconds, each time with other figures.
    if _lines.is_due((cause, str(params.get("says", params)))):
        log.warning("alert_raised", extra={"code": code, "params": storable_value(params)})
    write([AlertCall(cause, code, params, process_id)], dialect.read_clock(now))


def write(calls: Sequence[AlertCall], at: datetime) -> None:
    """Raise alerts; one whose cause is already open increments the open one's count.

    If the parameters of a process's alert change, it may have another cause, so it is news again.
    An alert without a process always has the same cause.
    """
    for call in calls:
        params, document = dialect.typed("json", storable_value(call.params))
        dialect.execute(
            "INSERT INTO workers_alert (cause, code, message, params, process_id, step_id,"
            " raised_at, last_raised_at, times, comment)"
            f" VALUES (%s, %s, '', {params}, %s, %s, %s, %s, 1, '')"
            " ON CONFLICT (cause) WHERE acknowledged_at IS NULL DO UPDATE SET"
            " times = workers_alert.times + %s, params = excluded.params,"
            " last_raised_at = excluded.last_raised_at, group_id = CASE WHEN"
            " workers_alert.process_id IS NULL OR workers_alert.params = excluded.params"
            " THEN workers_alert.group_id END",
            [
                storable(call.cause)[:200],
                call.code,
                *document,
                call.process_id,
                call.step_id,
                dialect.instant_text(at),
                dialect.instant_text(at),
                int(call.is_counted),
            ],
        )


def resolve(cause: str, at: datetime) -> None:
    """Mark a cause as ended, in the transaction of the caller that ended it."""
    text = dialect.instant_text(at)
    dialect.execute(
        "UPDATE workers_alert SET resolved_at = %s, acknowledged_at = COALESCE(acknowledged_at, %s)"
        " WHERE cause = %s AND resolved_at IS NULL",
        [text, text, cause],
    )
