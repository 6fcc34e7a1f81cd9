"""Deliveries to routes: claiming and resending them, and noting how they ended.

A relay proves its claim by the claim's end in ``next_at``: one that lost it changes nothing.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

from workers.desk.models import Delivery
from workers.desk.states import DeliveryEvent
from workers.desk.store import routes
from workers.runtime.failpoints import durable
from workers.runtime.storable_text import storable
from workers.store import alerts, journal
from workers.store.db import dialect

#: Code of the alert on a route that cannot be told.
UNDELIVERABLE = "route_undeliverable"

_DUE = "d.state = 'due' AND d.next_at <= {now}"
#: An incident's end must not overtake its beginning.
_IS_FIRST = (
    "NOT EXISTS (SELECT 1 FROM desk_delivery e WHERE e.route_id = d.route_id"
    " AND e.incident_id = d.incident_id AND e.state = 'due' AND e.id < d.id)"
)
_MAY_LEAVE = "r.is_active AND (r.muted_until IS NULL OR r.muted_until <= {now})"


@dataclass(slots=True)
class ClaimedDelivery:
    """A delivery claimed until ``until``, with the receiver it goes to."""

    id: int
    uid: UUID
    route_id: int
    incident_id: int | None
    event: str
    at: datetime
    tries: int
    kind: str
    address: str
    secret: str
    time_zone: str
    language: str
    until: datetime


#: Columns read of a delivery d and of its route r.
_ROUTE_COLUMNS = ("kind", "address", "secret", "time_zone", "language")
_COLUMNS = [field.name for field in fields(ClaimedDelivery) if field.name != "until"]
_SELECT = ", ".join(f"{'r' if name in _ROUTE_COLUMNS else 'd'}.{name}" for name in _COLUMNS)


def note_test(
    route_id: int, seconds: float, *, actor: str, now: datetime | None = None
) -> ClaimedDelivery | None:
    """Create a test delivery to a route, claimed for the caller, so that no relay sends it.

    None: the route is gone.
    """
    at = dialect.read_clock(now)
    until = at + timedelta(seconds=seconds)
    with durable("deliveries.note_test"):
        # Locked, so that it is not deleted meanwhile.
        route = routes.lock(route_id)
        if route is None:
            return None
        row = Delivery.objects.create(
            route=route, event=DeliveryEvent.TEST, at=at, next_at=until, uid=uuid4()
        )
        journal.record_act("route_tested", {"route": route.name}, actor=actor, now=at)
    columns = {name: getattr(route, name) for name in _ROUTE_COLUMNS}
    return ClaimedDelivery(
        row.pk, row.uid, route_id, None, DeliveryEvent.TEST, at, 0, **columns, until=until
    )


def claim(
    limit: int, seconds: float, *, not_of: Collection[int] = (), now: datetime | None = None
) -> list[ClaimedDelivery]:
    """Claim due deliveries for ``seconds``, the longest waiting first.

    Skips the routes in ``not_of``, and deliveries that another relay holds.  Deliveries of one
    route and incident leave in order.
    """
    at = dialect.read_clock(now)
    until = at + timedelta(seconds=seconds)
    moment = dialect.instant_text(at)
    with durable("deliveries.claim"):
        rows = dialect.fetch(
            f"SELECT {_SELECT} FROM desk_delivery d JOIN desk_route r ON r.id = d.route_id"
            f" WHERE {_DUE.format(now='%s')} AND {_MAY_LEAVE.format(now='%s')} AND {_IS_FIRST}"
            f" AND NOT ({dialect.among('d.route_id')})"
            f" ORDER BY d.next_at, d.id LIMIT %s {dialect.lock_rows('d', skip_locked=True)}",
            [moment, moment, dialect.id_list(sorted(not_of)), limit],
        )
        claimed = [_claimed(row, until) for row in rows]
        dialect.execute(
            f"UPDATE desk_delivery SET next_at = %s WHERE {dialect.among('id')}",
            [dialect.instant_text(until), dialect.id_list([row.id for row in claimed])],
        )
    return claimed


def _claimed(row: Sequence[Any], until: datetime) -> ClaimedDelivery:
    columns = dict(zip(_COLUMNS, row, strict=True))
    columns["uid"] = dialect.uuid(columns["uid"])
    columns["at"] = dialect.instant(columns["at"])
    return ClaimedDelivery(**columns, until=until)


def seconds_waiting(now: datetime | None = None) -> float | None:
    """Return how long the oldest due delivery has waited; None: none is due."""
    at = dialect.read_clock(now)
    moment = dialect.instant_text(at)
    rows = dialect.fetch(
        "SELECT d.next_at FROM desk_delivery d JOIN desk_route r ON r.id = d.route_id"
        f" WHERE {_DUE.format(now='%s')} AND {_MAY_LEAVE.format(now='%s')}"
        " ORDER BY d.next_at, d.id LIMIT 1",
        [moment, moment],
    )
    since = dialect.instant(rows[0][0]) if rows else None
    return None if since is None else (at - since).total_seconds()


def delivered(
    delivery: ClaimedDelivery, status: int | None, answer: str, now: datetime | None = None
) -> bool:
    """Record that a delivery has arrived, and resolve the alert on its route.

    False: another relay has sent it meanwhile; nothing was changed.
    """
    at = dialect.read_clock(now)
    with durable("deliveries.delivered"):
        is_ours = _end_claim(
            delivery,
            "state = 'delivered', ended_at = %s, answer_status = %s, answer = %s, problem = NULL",
            [dialect.instant_text(at), status, storable(answer)[:400]],
        )
        if is_ours:
            alerts.resolve(f"{UNDELIVERABLE}:{delivery.route_id}", at)
    return is_ours


def put_off(delivery: ClaimedDelivery, seconds: float, now: datetime | None = None) -> None:
    """Release a claim without counting a try: the delivery is due again after ``seconds``."""
    with durable("deliveries.put_off"):
        _end_claim(delivery, "next_at = %s", [_in(seconds, now)])


def failed(
    delivery: ClaimedDelivery,
    seconds: float,
    status: int | None,
    answer: str,
    now: datetime | None = None,
    *,
    problem: Mapping[str, Any] | None = None,
) -> None:
    """Count a failed try; the next is due after ``seconds``.

    ``problem`` is a code of ``delivery_problems`` with its parameters.
    """
    assign, params = _problem(problem)
    with durable("deliveries.failed"):
        _end_claim(
            delivery,
            f"next_at = %s, tries = tries + 1, answer_status = %s, answer = %s, {assign}",
            [_in(seconds, now), status, storable(answer)[:400], *params],
        )


def give_up(
    delivery: ClaimedDelivery,
    status: int | None,
    answer: str,
    now: datetime | None = None,
    *,
    problem: Mapping[str, Any] | None = None,
) -> bool:
    """Give a delivery up.  False: another relay has dealt with it meanwhile."""
    at = dialect.read_clock(now)
    assign, params = _problem(problem)
    with durable("deliveries.give_up"):
        return _end_claim(
            delivery,
            "state = 'failed', ended_at = %s, tries = tries + 1, answer_status = %s, answer = %s,"
            f" {assign}",
            [dialect.instant_text(at), status, storable(answer)[:400], *params],
        )


def resend(delivery_id: int, *, actor: str, now: datetime | None = None) -> bool:
    """Make a delivery that was given up due again at once.  False: it was not given up."""
    at = dialect.read_clock(now)
    with durable("deliveries.resend"):
        is_due = dialect.execute(
            "UPDATE desk_delivery SET state = 'due', tries = 0, next_at = %s,"
            " ended_at = NULL WHERE id = %s AND state = 'failed'",
            [dialect.instant_text(at), delivery_id],
        )
        if is_due:
            journal.record_act("delivery_resent", {"delivery": delivery_id}, actor=actor, now=at)
    return bool(is_due)


def _problem(problem: Mapping[str, Any] | None) -> tuple[str, list[Any]]:
    value, params = dialect.typed("json", problem)
    return f"problem = {value}", params


def _in(seconds: float, now: datetime | None) -> str:
    return dialect.instant_text(dialect.read_clock(now) + timedelta(seconds=seconds))


def _end_claim(delivery: ClaimedDelivery, assign: str, params: list[Any]) -> bool:
    return (
        dialect.execute(
            f"UPDATE desk_delivery SET {assign} WHERE id = %s AND state = 'due' AND next_at = %s",
            [*params, delivery.id, dialect.instant_text(delivery.until)],
        )
        == 1
    )
