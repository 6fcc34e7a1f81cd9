"""A list and pages of processes, or of rows that each have one: for an app's own as well."""

from typing import Any, ClassVar

from django.contrib.admin import ShowFacets
from django.db.models import Prefetch, QuerySet, prefetch_related_objects
from django.http import HttpRequest
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy
from django.utils.translation import ngettext

from workers.admin import ReadOnlyAdmin
from workers.desk.admin import badges, causes, filters, masking, snapshot
from workers.desk.admin.bulk.lists import BulkListAdmin
from workers.desk.admin.csv_files import CsvListAdmin
from workers.desk.admin.lists import LiveListAdmin, column
from workers.desk.admin.page import ProcessPageAdmin
from workers.desk.admin.query_bar import QueryBarAdmin
from workers.desk.admin.snapshot import ProcessSnapshot
from workers.desk.admin.view_lists import ViewListAdmin
from workers.models import Alert, Process
from workers.ops import wait_facts
from workers.rules import attributes
from workers.states import StepState
from workers.store.attributes import of_processes


def current_step(row: Any) -> SafeString:
    current = _standing(row).current
    if current is None:
        return badges.NOTHING
    # If step and process are in the same state, showing it once is enough.
    is_same = current.state == _standing(row).process.state
    state = "" if is_same else badges.state(current.state)
    return format_html("{}{}", badges.beside(current.name, current.agent), state)


def failures(row: Any) -> SafeString:
    current = _standing(row).current
    if current is None:
        return badges.NOTHING
    text = _("%(n)d of %(max)d") % {"n": current.failure_count, "max": current.failure_threshold}
    attempt = _("attempt %(n)d") % {"n": current.attempt} if current.attempt else ""
    return badges.labelled(_("failures"), badges.beside(text, attempt))


def complete_by(row: Any) -> SafeString | str:
    """Return when the current attempt must be over, and the worker that has it."""
    standing = _standing(row)
    current = standing.current
    if current is None:
        return badges.NOTHING
    if current.state == StepState.PENDING and current.retry_seconds is not None:
        return badges.countdown(current.not_before, standing.now, _("again in %s"), _("due"))
    until = badges.countdown(current.complete_by, standing.now, is_alarm=True)
    if not current.locked_by:
        return until
    # A claim that an earlier release sent has no deadline before its start.
    return badges.beside(until if current.complete_by else "", badges.worker(current.locked_by))


def why(row: Any) -> SafeString | str:
    """Return what the current step waits for, and the last fault unless that contains it."""
    standing = _standing(row)
    explanation = standing.current.explanation if standing.current else ""
    message = (standing.fault or {}).get("message")
    fault: SafeString | str = ""
    if standing.fault and not (message and message in explanation):
        fault = badges.short_fault(standing.fault)
    if not explanation:
        return fault or badges.NOTHING
    return format_html('<span class="sas-why">{}</span> {}', explanation, fault)


def state_of(row: Any) -> SafeString:
    """Return a process's state, whether it is paused, and its open alerts."""
    standing = _standing(row)
    count = len(standing.process.open_alerts)  # type: ignore[attr-defined]
    parts = [badges.state(standing.process.state)]
    if standing.is_paused:
        parts.append(badges.label(_("paused"), "pending", "skipped"))
    if count:
        alerts = ngettext("%(n)d alert", "%(n)d alerts", count) % {"n": count}
        parts.append(badges.label(alerts, "alert", "alert"))
    return format_html_join("", "{}", ((part,) for part in parts))


def attributes_of(row: Any) -> SafeString:
    """Return what the process is found by, each as it is searched for."""
    words = row.attributes_shown.items()
    return format_html_join(" ", "<code>{}={}</code>", words) if words else badges.NOTHING


def age_of(row: Any) -> SafeString | str:
    standing = _standing(row)
    return badges.age(standing.process.created_at, standing.now)


def _standing(row: Any) -> ProcessSnapshot:
    standing: ProcessSnapshot = row.standing
    return standing


#: The filters of every list of processes.
PROCESS_FILTERS = (
    filters.NeedsSomeoneFilter,
    filters.StateFilter,
    filters.CurrentStepFilter,
    filters.AgentInErrorFilter,
    filters.FaultFilter,
    causes.CauseFilter,
    filters.IncidentFilter,
    filters.PausedFilter,
    filters.AtAgentFilter,
    filters.WithAgentFilter,
    filters.SinceFilter,
    filters.JobFilter,
    filters.GroupFilter,
    filters.AttributeFilter,
)


class ProcessListAdmin(
    ReadOnlyAdmin,
    ProcessPageAdmin,
    BulkListAdmin,
    CsvListAdmin,
    QueryBarAdmin,
    ViewListAdmin,
    LiveListAdmin,
):
    """Rows joined with their processes, and what may be done to them; read-only otherwise."""

    show_facets: ClassVar = ShowFacets.ALWAYS

    current_step = column(lazy("current step"), current_step)
    failures = column(lazy("failures"), failures)
    complete_by = column(lazy("complete by"), complete_by)
    why = column(lazy("why"), why)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return snapshot.with_steps(super().get_queryset(request), self.process_path)

    def prepare(self, request: HttpRequest, rows: list[Any]) -> None:
        processes = [row if isinstance(row, Process) else row.process for row in rows]
        alerts = Prefetch("alerts", Alert.objects.filter(acknowledged_at=None), "open_alerts")
        prefetch_related_objects(processes, alerts)
        masks = masking.of_processes(process.pk for process in processes)
        situation = wait_facts.read(processes, masks=masks)
        texts = of_processes(processes)
        for row, process in zip(rows, processes, strict=True):
            row.attributes_shown = attributes.masked(texts.get(process.pk, {}), masks[process.pk])
            masking.conceal_steps(process, masks[process.pk])
            row.standing = snapshot.of(process, situation)
