"""Everything an operator sees of one incident: what broke, its members, where to handle it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import parse_qs

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.core.paginator import Page, Paginator
from django.http import HttpRequest, StreamingHttpResponse
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy
from django.views.decorators.http import require_http_methods

from workers.definitions.alert_kinds import IncidentKind
from workers.desk.admin import csv_files, masking, navigation, subjects, timeline
from workers.desk.admin.bulk.kinds import BY_NAME
from workers.desk.admin.bulk.lists import BulkListAdmin
from workers.desk.admin.paging import COUNTED
from workers.desk.admin.pictures import plot
from workers.desk.admin.pictures.plot import Mark, Shape
from workers.desk.admin.timeline import Line
from workers.desk.admin.wording import Text
from workers.desk.models import BulkJob, Incident, Note
from workers.desk.operate import incident_list
from workers.desk.operate.incident_list import IncidentLine
from workers.models import Alert, Process
from workers.ops import wait_facts
from workers.runtime import timestamps

#: Columns of the chart.
BARS = 24
#: The chart's span if all alerts came at once.
LEAST_SPAN = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Arrivals:
    begin: datetime
    end: datetime
    most: int
    shapes: Sequence[Shape]
    spots: Sequence[Mark]
    #: Begin, end and number of the columns that are not empty.
    lines: Sequence[tuple[datetime, datetime, int]]


def chart(instants: Sequence[datetime], end: datetime) -> Arrivals | None:
    """Return the arrivals from the first instant to ``end``; None without any."""
    if not instants:
        return None
    begin = min(instants)
    width = max(end - begin, LEAST_SPAN) / BARS
    begins = [begin + index * width for index in range(BARS)]
    counts = [0] * BARS
    for at in instants:
        counts[min(int((at - begin) / width), BARS - 1)] += 1
    on = plot.scale(begins, begin + BARS * width, counts)
    columns = list(zip(begins, counts, strict=True))
    return Arrivals(
        begin,
        on.end,
        max(counts),
        plot.stacked(on, [{"came": count} for count in counts], ["came"]),
        plot.spots(on, [f"{timestamps.full(at)}: {count}" for at, count in columns]),
        [(at, at + width, count) for at, count in columns if count],
    )


#: Members on a page; newest members in the chart.
PAGE, CHARTED = 50, 5000
#: Newest notes on the page.
NOTES = 50
#: Jobs on the page; newest jobs that are searched for them.
JOBS, LOOKED_AT = 10, 200
#: Newest journal lines of a sample.
SAMPLE_LINES = 5


@dataclass(frozen=True, slots=True)
class Sample:
    """One member with the end of its process's journal."""

    alert: Alert
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class IncidentPanel:
    """The live part of the page."""

    line: IncidentLine
    now: datetime
    chart: Arrivals | None
    #: The newest alert that the page has shown, and how many came after it.
    seen: int
    news: int
    #: Alerts whose cause persists, newest first; None if there are more than were read.
    still: list[int] | None

    @property
    def incident(self) -> Incident:
        return self.line.incident


def panel(incident: Incident, seen: int | None) -> IncidentPanel:
    """Read the live part; ``seen`` is the newest alert when the page was opened."""
    situation = wait_facts.read()
    (line,) = incident_list.in_words([incident], situation)
    columns = ("pk", "raised_at", "resolved_at")
    newest = list(incident.alerts.order_by("-pk").values_list(*columns)[:CHARTED])
    last_id = newest[0][0] if newest else 0
    seen = last_id if seen is None else seen
    end = incident.resolved_at or situation.now
    return IncidentPanel(
        line=line,
        now=situation.now,
        chart=chart([at for _, at, _ in newest], end),
        seen=seen,
        news=sum(alert_id > seen for alert_id, _, _ in newest),
        still=[pk for pk, _, ended_at in newest if ended_at is None]
        if len(newest) < CHARTED
        else None,
    )


@dataclass(frozen=True, slots=True)
class Members:
    """A page of the alerts of an incident, and a few of them with the ends of their journals."""

    page: Page
    samples: list[Sample]


def members(panel: IncidentPanel, number: int) -> Members:
    """Return the alerts whose cause persists, newest first; of a resolved incident, all it had.

    The samples are the newest, the oldest and a middle one of the alerts that are counted.
    """
    keys = _members(panel)[:COUNTED]
    page: Any = Paginator(keys, PAGE).get_page(number)
    sample_ids = list(dict.fromkeys(keys[i] for i in (0, len(keys) // 2, -1))) if keys else []
    by_id = (
        Alert.objects.select_related("process", "step")
        .defer("process__input", "step__result", "step__reply")
        .in_bulk([*sample_ids, *page.object_list])
    )
    masks = masking.conceal_alerts(by_id.values())
    for alert in by_id.values():
        if alert.step is not None:
            masking.conceal_step(alert.step, masks[alert.process_id])
    urls = subjects.pages(alert.process_id for alert in by_id.values() if alert.process_id)
    for alert in by_id.values():
        alert.subject_url = urls.get(alert.process_id or 0)  # type: ignore[attr-defined]
    page.object_list = [by_id[key] for key in page.object_list if key in by_id]
    about = [by_id[key] for key in sample_ids if key in by_id and by_id[key].process is not None]
    processes = [alert.process for alert in about if alert.process]
    # For a process that has recovered: what had failed, not how it ended.
    failed = {a.process_id: a.last_raised_at for a in about if a.process_id and a.resolved_at}
    ends = timeline.ends(processes, SAMPLE_LINES, masks, failed)
    return Members(page, [Sample(alert, ends[alert.process_id or 0]) for alert in about])


def _members(panel: IncidentPanel) -> list[int]:
    rows = panel.incident.alerts.order_by("-pk").values_list("pk", flat=True)
    if panel.incident.resolved_at is not None:
        return list(rows[:COUNTED])
    if panel.still is not None:
        return panel.still
    return list(rows.filter(resolved_at=None)[:COUNTED])


def jobs(incident: Incident) -> list[BulkJob]:
    """Return the newest jobs on its members: started by its key, or from a list of its members."""
    newest = BulkJob.objects.filter(created_at__gte=incident.opened_at).order_by("-pk")[:LOOKED_AT]
    return [job for job in newest if _is_on(job, incident)][:JOBS]


def _is_on(job: BulkJob, incident: Incident) -> bool:
    incident_ids = parse_qs(str(job.source.get("query", ""))).get("incident", [])
    return job.source.get("incident") == incident.key or str(incident.pk) in incident_ids


def notes(incident: Incident) -> list[Note]:
    """Return the newest notes on an incident, masked in memory: never to be saved."""
    rows = incident.notes.select_related("author").order_by("-pk")[:NOTES]
    return masking.conceal_words(rows, "text")


HEADS = ("process", "subject", "message", "raised_at", "times", "ended_at", "worth")


@require_http_methods(["GET", "POST"])
def csv_view(request: HttpRequest, pk: int) -> StreamingHttpResponse:
    """Send the alerts of an incident, the newest first, as they are read."""
    if not request.user.has_perm("desk.view_incident"):
        raise PermissionDenied
    incident = get_object_or_404(Incident, pk=pk)
    lines = _lines(incident, is_personal=csv_files.asks_personal(request))
    detail = {"incident": incident.key, "id": incident.pk}
    return csv_files.answer(request, f"incident-{incident.pk}", HEADS, lines, **detail)


def _lines(incident: Incident, *, is_personal: bool) -> Iterator[list[Any]]:
    rows = incident.alerts.select_related("process").defer("process__input").order_by("-pk")
    last_id: int | None = None
    while alerts := list(
        (rows if last_id is None else rows.filter(pk__lt=last_id))[: csv_files.READ_AT_ONCE]
    ):
        last_id = alerts[-1].pk
        if not is_personal:
            masking.conceal_alerts(alerts)
        for alert in alerts:
            yield [
                alert.process_id or "",
                alert.process.subject if alert.process else "",
                alert.message,
                csv_files.instant(alert.raised_at),
                alert.times,
                csv_files.instant(alert.resolved_at),
                alert.money if alert.money is not None else "",
            ]


_DOCTOR = navigation.Page("desk_proberesult_changelist", lazy("Doctor"), "desk.view_proberesult")
_PAGES: dict[str, navigation.Page] = {
    IncidentKind.AGENT: navigation.Page(
        "workers_flow_changelist", lazy("Flow"), "workers.view_flow"
    ),
    IncidentKind.DEFINITION: _DOCTOR,
    IncidentKind.DUTY: _DOCTOR,
    IncidentKind.INSTALLATION: _DOCTOR,
}
#: For kinds with several subjects: pages by the code of their alerts.
_PAGES_BY_CODE = {
    "sink_undeliverable": navigation.Page(
        "workers_sink_changelist", lazy("Sinks"), "workers.view_sink"
    ),
    "route_undeliverable": navigation.Page(
        "desk_delivery_changelist", lazy("Deliveries"), "desk.view_delivery"
    ),
}


def links(request: HttpRequest, incident: Incident) -> list[tuple[str, Text]]:
    """Return the URLs and names of the pages where an incident can be handled."""
    if is_of_processes(incident):
        return _lists(request, incident)
    page = _PAGES_BY_CODE.get(incident.code) or _PAGES.get(incident.kind)
    line = page and page.line(request)
    return [(line["admin_url"], line["name"])] if line else []


def is_of_processes(incident: Incident) -> bool:
    """Return whether each of its alerts is about a process."""
    return "workflow" in incident.params


def _lists(request: HttpRequest, incident: Incident) -> list[tuple[str, Text]]:
    text = _("Its %(rows)s")
    if incident.resolved_at is None and list_to_resubmit(request) is not None:
        text = _("Resubmit its %(rows)s…")
    return [
        (f"{url}?incident={incident.pk}", text % {"rows": label})
        for url, label in subjects.lists(request.user)
    ]


def list_to_resubmit(request: HttpRequest) -> BulkListAdmin | None:
    """Return a list in which the user may resubmit, an app's own first; None if there is none."""
    lists = [
        model_admin
        for model_admin in admin.site._registry.values()
        if isinstance(model_admin, BulkListAdmin)
        and model_admin.has_view_permission(request)
        and model_admin.may(request, BY_NAME["resubmit"])
    ]
    return min(lists, key=lambda model_admin: model_admin.model is Process, default=None)
