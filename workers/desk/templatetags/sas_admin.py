"""Template filters of the admin's pages: the markup of ``workers.desk.admin.badges``."""

from collections.abc import Callable, Mapping
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
    incident,
    job_page,
    masking,
    navigation,
    undo_request,
    wording,
)
from workers.desk.admin.health import strip
from workers.desk.admin.view_lists import Look
from workers.desk.operate import incident_list
from workers.desk.operate.incident_list import OpenIncidents
from workers.desk.texts import explain
from workers.models import Hold, UndoRequest
from workers.runtime import timestamps
from workers.states import PEOPLE

register = template.Library()

_FILTERS: Mapping[str, Callable[..., Any]] = {
    "state_mark": badges.state,
    "icon": badges.icon,
    "coded": badges.coded,
    "state_word": wording.state,
    "outline": badges.outline,
    "fault_kind": wording.fault_kind,
    "instant": badges.instant,
    "worker": badges.worker,
    "age_at": badges.age,
    "breaker_mark": flow.breaker_mark,
    "breaker_state": flow.breaker_label,
    "alert_mark": alert.standing_mark,
    "result_mark": job_page.result_mark,
    "incident_mark": incident.state_mark,
    "incident_members": incident.members_text,
    "full_instant": timestamps.full,
    "report": explain.report,
}
for _name, _markup in _FILTERS.items():
    register.filter(_name, _markup)
register.simple_tag(strip.read, name="health_strip")
register.simple_tag(changes.of_desk, name="desk_marker")


@register.simple_tag
def environment() -> str:
    """Return the name of this installation; empty: it has none."""
    return sas.environment


@register.filter
def of_view(looks: Mapping[int, Look] | None, view_id: int) -> Look:
    """Return the counts of a saved view; an empty ``Look`` while they are missing."""
    return (looks or {}).get(view_id, Look())


@register.filter
def time_left(at: datetime | None, now: datetime) -> SafeString | str:
    return badges.countdown(at, now, is_alarm=True)


@register.filter
def pause_mark(text: str) -> SafeString:
    return badges.label(text, "pending", "skipped")


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
    if not undo_request.may_see(context["request"]):
        return 0
    return undo_request.waiting(UndoRequest.objects.all()).count()


@register.simple_tag
def incident_desk() -> OpenIncidents:
    """Return the open incidents that the front page shows, the gravest first."""
    return incident_list.read(incident.ON_DESK)
