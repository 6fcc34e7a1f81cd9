"""Template filters of the admin's pages: the markup of ``workers.desk.admin.badges``."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django import template
from django.template import RequestContext
from django.utils.safestring import SafeString

from workers.conf import sas
from workers.desk.admin import (
    alert,
    badges,
    changes,
    flow,
    icons,
    incident,
    job_page,
    masking,
    navigation,
    undo_request_views,
    wording,
)
from workers.desk.admin.changes import Marker
from workers.desk.admin.health import strip
from workers.desk.admin.health.strip import Strip
from workers.desk.admin.view_counts import Look
from workers.desk.operate import incident_list
from workers.desk.operate.incident_list import OpenIncidents
from workers.desk.texts import explain
from workers.models import Alert, Flow, Hold, Incident, UndoRequest
from workers.runtime import timestamps
from workers.states import PEOPLE

register = template.Library()


@register.simple_tag
def environment() -> str:
    """Return the name of this installation; empty: it has none."""
    return sas.environment


@register.filter
def state_mark(name: str) -> SafeString:
    return badges.state(name)


@register.filter
def of_view(looks: Mapping[int, Look] | None, view_id: int) -> Look:
    """Return the counts of a saved view; an empty ``Look`` while they are missing."""
    return (looks or {}).get(view_id, Look())


@register.filter
def icon(name: str) -> SafeString:
    return icons.icon(name)


@register.filter
def coded(text: str) -> SafeString:
    return badges.coded(text)


@register.filter
def state_word(name: str) -> str:
    return wording.state(name)


@register.filter
def outline(name: str) -> str:
    """Return the shape of a state as an SVG path."""
    return icons.outline(name)


@register.filter
def fault_kind(name: str) -> str:
    return wording.fault_kind(name)


@register.filter
def instant(at: datetime | None) -> SafeString | str:
    return badges.instant(at)


@register.filter
def worker(name: str | None) -> SafeString | str:
    return badges.worker(name)


@register.filter
def age_at(at: datetime | None, now: datetime) -> SafeString | str:
    return badges.age(at, now)


@register.filter
def time_left(at: datetime | None, now: datetime) -> SafeString | str:
    return badges.countdown(at, now, is_alarm=True)


@register.filter
def breaker_mark(row: Flow, now: datetime) -> SafeString:
    return flow.breaker_mark(row, now)


@register.filter
def breaker_state(name: str) -> SafeString:
    return flow.breaker_label(name)


@register.filter
def pause_mark(text: str) -> SafeString:
    return badges.label(text, "pending", "skipped")


@register.filter
def alert_mark(row: Alert) -> SafeString:
    return alert.standing_mark(row)


@register.filter
def result_mark(result: str) -> SafeString:
    return job_page.result_mark(result)


@register.filter
def incident_mark(row: Incident) -> SafeString:
    return incident.state_mark(row)


@register.filter
def incident_members(row: Incident) -> SafeString | str:
    return incident.members_text(row)


@register.filter
def full_instant(at: datetime) -> str:
    """Return an instant as plain text, for attributes and titles."""
    return timestamps.full(at)


@register.filter
def report(progress: dict[str, Any]) -> str:
    return explain.report(progress)


@register.filter
def entry(mapping: dict[str, Any], key: str) -> Any:
    """Return the value of a key that is a template variable."""
    return mapping.get(key)


@register.filter
def person(actor: str) -> str:
    """Return the name of an actor without the journal's prefix for people."""
    return actor.removeprefix(PEOPLE)


@register.filter
def hold_name(hold: Hold) -> str:
    return badges.hold(hold.kind, hold.name)


@register.simple_tag(takes_context=True)
def in_groups(context: RequestContext, app_list: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the apps of an admin site with the desk's lists by what a person does."""
    return navigation.in_groups(context["request"], app_list)


@register.simple_tag(takes_context=True)
def groups(context: RequestContext) -> list[dict[str, Any]]:
    """Return the desk's lists by what a person does, and no other app's."""
    apps = navigation.in_groups(context["request"], context["available_apps"])
    return [app for app in apps if navigation.is_group(app)]


@register.simple_tag
def held_now() -> list[Hold]:
    """Return the holds of operators that are on now, the oldest first."""
    return masking.conceal_words(Hold.objects.filter(ended_at=None).order_by("began_at"), "reason")


@register.simple_tag(takes_context=True)
def undo_requests_waiting(context: RequestContext) -> int:
    """Return how many requests for approval wait; 0 for a user who may not see them."""
    if not undo_request_views.may_see(context["request"]):
        return 0
    return undo_request_views.waiting(UndoRequest.objects.all()).count()


@register.simple_tag
def health_strip() -> Strip:
    """Return the figures of the last hour, for the front page."""
    return strip.read()


@register.simple_tag
def desk_marker() -> Marker:
    """Return the marker that the front page's polls compare: read before any other row."""
    return changes.of_desk()


@register.simple_tag
def incident_desk() -> OpenIncidents:
    """Return the open incidents that the front page shows, the gravest first."""
    return incident_list.read(incident.ON_DESK)
