"""Duties about alerts, performed with each sweep besides recovery."""

from workers.store import alert_resolution
from workers.store.duties import When, duty
from workers.store.flow import open_breakers
from workers.store.leases import HeldLease

#: The lease of closing alerts; a duty that must see alerts before they close registers before it.
ALERT_CLOSING = "alert_closing"


@duty("breaker_alerts", When.SWEEP)
def alert_open_breakers(_lease: HeldLease) -> None:
    open_breakers.alert_long_open()


@duty(ALERT_CLOSING, When.SWEEP)
def close_alerts(_lease: HeldLease) -> None:
    alert_resolution.resolve_ended()
