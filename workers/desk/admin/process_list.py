"""A list and pages of processes, or of rows that each have one: for an app's own as well."""

from typing import Any, ClassVar

from django.contrib.admin import ShowFacets
from django.db.models import Prefetch, QuerySet, prefetch_related_objects
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as lazy

from workers.admin import ReadOnlyAdmin
from workers.desk.admin import (
    causes,
    columns,
    filters,
    masking,
    snapshot,
)
from workers.desk.admin.bulk.lists import BulkListAdmin
from workers.desk.admin.csv_lists import CsvListAdmin
from workers.desk.admin.lists import LiveListAdmin, column
from workers.desk.admin.page import ProcessPageAdmin
from workers.desk.admin.query_bar import QueryBarAdmin
from workers.desk.admin.view_lists import ViewListAdmin
from workers.models import Alert, Process
from workers.ops import wait_facts

#: Of any such list.
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

    current_step = column(lazy("current step"), columns.current_step)
    failures = column(lazy("failures"), columns.failures)
    complete_by = column(lazy("complete by"), columns.complete_by)
    why = column(lazy("why"), columns.why)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return snapshot.with_steps(super().get_queryset(request), self.process_path)

    def prepare(self, request: HttpRequest, rows: list[Any]) -> None:
        processes = [row if isinstance(row, Process) else row.process for row in rows]
        alerts = Prefetch("alerts", Alert.objects.filter(acknowledged_at=None), "open_alerts")
        prefetch_related_objects(processes, alerts)
        masks = masking.of_processes(process.pk for process in processes)
        situation = wait_facts.read(processes, masks=masks)
        for row, process in zip(rows, processes, strict=True):
            masking.conceal_steps(process, masks[process.pk])
            row.standing = snapshot.of(process, situation)
