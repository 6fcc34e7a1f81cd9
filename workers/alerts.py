"""Telling an operator of something that belongs to no single process."""

import logging
from datetime import datetime

from workers.failpoints import around
from workers.rows import AlertCall
from workers.store import alerts, sql

log = logging.getLogger(__name__)


@around("alerts.raise_alert")
def raise_alert(code: str, message: str, *, subject: str = "", now: datetime | None = None) -> None:
    """Raise an alert, once per code and subject until an operator acknowledges it."""
    log.warning("alert_raised", extra={"code": code, "reason": message})
    alerts.write([AlertCall(f"{code}:{subject}", code, message)], sql.read_clock(now))
