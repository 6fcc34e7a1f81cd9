"""Writes routes: who is told of incidents; each change has a journal row."""

from datetime import datetime

from django.db.models import QuerySet

from workers.desk.models import Route
from workers.rules.rows import Entry
from workers.runtime import storable_text
from workers.runtime.failpoints import durable
from workers.runtime.timestamps import text_of
from workers.store import journal
from workers.store.db import dialect


def lock_all(rows: QuerySet[Route]) -> list[Route]:
    """Lock routes in key order, skipping those that are locked elsewhere."""
    if dialect.is_postgres():
        rows = rows.select_for_update(skip_locked=True, no_key=True)
    return list(rows.order_by("pk"))


def lock(route_id: int) -> Route | None:
    """Lock a route, so that it is there until the transaction ends.  None: it is gone."""
    return Route.objects.select_for_update().filter(pk=route_id).first()


def save(route: Route, *, actor: str, now: datetime | None = None) -> None:
    """Write a route that was checked; the next sweep follows it."""
    storable_text.check("actor", actor)
    with durable("routes.save"):
        route.save()
        _note("route_set", route, actor, now)


def delete(route: Route, *, actor: str, now: datetime | None = None) -> bool:
    """Delete a route and its deliveries.  False: it was gone already."""
    with durable("routes.delete"):
        # Locked first, or a sweep could add a delivery between deleting those and the route.
        if lock(route.pk) is None:
            return False
        Route.objects.filter(pk=route.pk).delete()
        _note("route_deleted", route, actor, now)
        return True


def mute(route: Route, until: datetime | None, *, actor: str, now: datetime | None = None) -> bool:
    """Mute a route until an instant; None: unmute it.  False: it is gone."""
    with durable("routes.mute"):
        if not Route.objects.filter(pk=route.pk).update(muted_until=until):
            return False
        _note("route_muted", route, actor, now, until=None if until is None else text_of(until))
        return True


def _note(event: str, route: Route, actor: str, now: datetime | None, **detail: str | None) -> None:
    """Journal what was done, without the route's secrets."""
    facts = {"route": route.name, "kind": route.kind, **detail}
    at = dialect.read_clock(now)
    journal.write([Entry(process_id=None, event=event, actor=actor, detail=facts)], at)
