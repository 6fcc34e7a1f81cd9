"""Marks on the charts: incidents, new code, and what operators set."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext as _

from workers.desk.admin import badges, wording
from workers.desk.admin.health.figures import Frame
from workers.desk.models import Incident, Release
from workers.desk.texts import alert_texts
from workers.models import Journal

#: Newest marks of each kind that are shown.
MOST = 30
#: Newest rows without a process that are read: most of them are other acts.
LOOKED_AT = 500
#: Acts that affect agents, unlike acts on incidents.
ACTS = ("flow_set", "held", "lifted", "job_started", "job_paused", "job_resumed", "job_stopped")


@dataclass(frozen=True, slots=True)
class Mark:
    """An event at one instant, with its tone and the URL of its page, if it has one."""

    at: datetime
    tone: str
    text: str
    url: str = ""


def read(frame: Frame, user: Any, agent: str = "") -> list[Mark]:
    """Return the marks that a user may see, newest first; for an agent, those on it or on all."""
    marks = [*_releases(frame)]
    if user.has_perm("desk.view_incident"):
        marks += _incidents(frame, agent)
    if user.has_perm("workers.view_flow"):
        marks += _acts(frame, agent)
    return sorted(marks, key=lambda mark: mark.at, reverse=True)


def _releases(frame: Frame) -> Iterable[Mark]:
    rows = Release.objects.filter(seen_at__gte=frame.begin).order_by("-pk")[:MOST]
    for row in rows:
        yield Mark(row.seen_at, "live", _("new code: %(name)s") % {"name": row.name})


def _incidents(frame: Frame, agent: str) -> Iterable[Mark]:
    rows = Incident.objects.filter(opened_at__gte=frame.begin).order_by("-pk")[:MOST]
    for row in rows:
        agents = {row.params.get("agent"), row.params.get("about")}
        if agent and row.params.get("agent") and agent not in agents:
            continue
        text = alert_texts.title(row.code, row.params)
        yield Mark(row.opened_at, "bad", text, reverse("admin:desk_incident_change", args=[row.pk]))


def _acts(frame: Frame, agent: str) -> Iterable[Mark]:
    # The newest rows without a process, by the end of their index, whatever their age.
    newest = Journal.objects.filter(process=None).order_by("-id")[:LOOKED_AT]
    count = 0
    for row in newest.values("event", "actor", "detail", "at"):
        if row["at"] < frame.begin or count == MOST:
            return
        about = _about(row["event"], row["detail"])
        if row["event"] not in ACTS or (agent and about not in ("", agent)):
            continue
        count += 1
        parts = [wording.event(row["event"], of_step=False), about]
        parts.append(row["actor"].removeprefix("operator:"))
        yield Mark(row["at"], "person", " · ".join(filter(None, parts)))


def _about(event: str, detail: dict[str, Any]) -> str:
    """Return what an act was about; its reason stays in the journal."""
    if event == "flow_set":
        return str(detail.get("agent") or "")
    if event in ("held", "lifted"):
        kind, name = str(detail.get("kind") or ""), str(detail.get("name") or "")
        return name if kind == "agent" else badges.hold(kind, name)
    return _("job %(n)s") % {"n": detail.get("job")} if detail.get("job") else ""
