"""List filters about a process, for any list of rows that each have one.

The list's admin has in ``process_path`` the path from a row to its process: ``process__``, or
nothing if the rows are processes.
"""

from collections.abc import Callable, Iterable
from typing import Any

from django.contrib import admin
from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import (
    BooleanField,
    Count,
    Exists,
    F,
    Func,
    Model,
    OuterRef,
    Q,
    QuerySet,
    TextField,
    Value,
)
from django.db.models.fields.json import KT
from django.db.models.functions import Cast
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from workers.definitions import registry
from workers.desk.admin import lists, wording
from workers.models import Alert, Journal, LiveStep, Process, Step
from workers.states import (
    LIVE_STEP_STATES,
    OPEN_PROCESS_STATES,
    ProcessState,
    StepState,
)
from workers.store.db import dialect

#: Newest live steps that supply the choices of a filter.
SAMPLED = 1000


class ProcessFilter(admin.SimpleListFilter):
    """A filter by its value and the path to the process."""

    #: Whether it queries the database before it narrows anything: views with it are not counted.
    asks_first = False

    def __init__(
        self,
        request: HttpRequest,
        params: dict[str, list[str]],
        model: type[Model],
        model_admin: Any,
    ) -> None:
        self.path: str = model_admin.process_path
        super().__init__(request, params, model, model_admin)

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        value = self.value()
        if value is None:
            return queryset
        if value not in dict(self.lookup_choices):
            return queryset.none()
        return self.narrow(queryset, value)

    def narrow(self, rows: QuerySet[Any], value: str) -> QuerySet[Any]:
        raise NotImplementedError

    def name_choices(
        self, request: HttpRequest, names: Callable[[], Iterable[str]]
    ) -> list[tuple[str, str]]:
        """Return names as choices, including the chosen one even if no row has it now.

        Otherwise the filter would vanish, and the list would show everything, as soon as its last
        row moves on.
        """
        # Facets make every filter anew for every filter: read the names once.
        cache: dict[str, set[str]] = request.__dict__.setdefault("sas_filter_names", {})
        key = str(self.parameter_name)
        if key not in cache:
            # A poll shows no filters.
            cache[key] = set() if lists.is_poll(request) else set(names())
        chosen = self.value()
        return [(name, name) for name in sorted(cache[key] | ({chosen} if chosen else set()))]


class NeedsSomeoneFilter(ProcessFilter):
    title = _("need")
    parameter_name = "needs"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [
            ("someone", _("Someone is needed")),
            ("error", _("In error")),
            ("alert", _("Open alert")),
            ("expired", _("Expired more than once")),
        ]

    def narrow(self, rows: QuerySet[Any], value: str) -> QuerySet[Any]:
        kinds = {"error": in_error, "alert": _with_open_alert, "expired": _expired_again}
        queries = [kinds[value]()] if value in kinds else [kind() for kind in kinds.values()]
        # Each query uses its own partial index; one condition for all would read every process.
        return among(rows, self.path, queries[0].union(*queries[1:]) if queries[1:] else queries[0])


def among(rows: QuerySet[Any], path: str, process_ids: QuerySet[Any]) -> QuerySet[Any]:
    """Keep the rows whose process is among ``process_ids``, which are few and are queried first.

    A list in the order of its processes then reads only the rows it shows.  Use it at most once
    per list: PostgreSQL would compare two such arrays pair by pair.
    """
    if not dialect.is_postgres():
        return rows.filter(**{f"{path}pk__in": process_ids})
    # Ids of an array are looked up one by one; for a subquery the planner may read all rows.
    array = ArraySubquery(process_ids, template="(ARRAY(%(subquery)s))")
    is_among = Func(
        F(f"{path}pk"),
        F("candidates"),
        template="%(expressions)s",
        arg_joiner=" = ANY ",
        output_field=BooleanField(),
    )
    narrowed: QuerySet[Any] = rows.alias(candidates=array).filter(is_among)
    return narrowed


def not_over(rows: QuerySet[Any], path: str) -> QuerySet[Any]:
    """Keep the rows whose process goes on or is in error."""
    if "candidates" in rows.query.annotations:
        return rows.filter(**{f"{path}finished_at__isnull": True})
    # Each query uses its own partial index.
    going_on = Process.objects.filter(state__in=sorted(OPEN_PROCESS_STATES)).order_by()
    return among(rows, path, going_on.values("pk").union(in_error(), all=True))


def with_step(rows: QuerySet[Any], path: str, steps: QuerySet[Any]) -> QuerySet[Any]:
    """Keep the rows whose process is not over and has one of these steps.

    A finished process may have a step in error, too: the one it was undone for.
    """
    return not_over(rows, path).filter(Exists(steps.filter(process=OuterRef(f"{path}pk"))))


def in_error() -> QuerySet[Any]:
    return Process.objects.filter(state=ProcessState.ERROR).order_by().values("pk")


def _with_open_alert() -> QuerySet[Any]:
    alerts = Alert.objects.filter(acknowledged_at=None, process__isnull=False)
    return alerts.order_by().values("process")


def _expired_again() -> QuerySet[Any]:
    """Return the processes that are not over and expired more than once.

    A process that recovered by itself needs no one.
    """
    expired = Journal.objects.filter(event="expired").order_by().values("process")
    # Counts a column of the index.
    again = expired.annotate(times=Count("process")).filter(times__gt=1).values("process")
    going_on = Q(state__in=OPEN_PROCESS_STATES) | Q(state=ProcessState.ERROR)
    return Process.objects.filter(going_on, pk__in=again).order_by().values("pk")


class StateFilter(ProcessFilter):
    title = _("process state")
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [(state, wording.state(state)) for state in ProcessState.values]

    def narrow(self, rows: QuerySet[Any], value: str) -> QuerySet[Any]:
        return rows.filter(**{f"{self.path}state": value})


class WorkflowFilter(ProcessFilter):
    title = _("workflow")
    parameter_name = "workflow"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        # The workflows of the code: to get them from the rows would read all rows.
        return self.name_choices(
            request, lambda: {workflow.name for workflow in registry.workflows()}
        )

    def narrow(self, rows: QuerySet[Any], value: str) -> QuerySet[Any]:
        return rows.filter(**{f"{self.path}workflow": value})


class CurrentStepFilter(ProcessFilter):
    title = _("current step")
    parameter_name = "step"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return self.name_choices(request, lambda: _choices(request)["step"])

    def narrow(self, rows: QuerySet[Any], value: str) -> QuerySet[Any]:
        steps = Step.objects.filter(name=value, state__in=LIVE_STEP_STATES)
        return with_step(rows, self.path, steps)


class AgentInErrorFilter(ProcessFilter):
    title = _("agent in error")
    parameter_name = "agent"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return self.name_choices(request, lambda: _choices(request)["agent"])

    def narrow(self, rows: QuerySet[Any], value: str) -> QuerySet[Any]:
        steps = Step.objects.filter(agent=value, state=StepState.ERROR)
        return with_step(rows, self.path, steps)


class FaultFilter(ProcessFilter):
    title = _("fault in error")
    parameter_name = "fault"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return self.name_choices(request, lambda: _choices(request)["fault"])

    def narrow(self, rows: QuerySet[Any], value: str) -> QuerySet[Any]:
        # As JSON, a code that looks like a number would be compared as one.
        code = Cast(KT("fault__code"), TextField())
        faulty = Step.objects.filter(state=StepState.ERROR).annotate(code=code)
        return with_step(rows, self.path, faulty.filter(code=value))


def _choices(request: HttpRequest) -> dict[str, set[str]]:
    """Return the names of live steps, and the agents and faults of those in error: one query.

    Several filters of a list call it; the result is cached on the request.  Names and faults are
    those of the newest steps: all of them may be hundreds of thousands.  Others can still be given
    in the URL, and are among the causes of errors.
    """
    choices: dict[str, set[str]] | None = getattr(request, "_sas_choices", None)
    if choices is not None:
        return choices
    in_error = LiveStep.objects.filter(state=StepState.ERROR).order_by()
    agents = in_error.values_list(Value("agent", TextField()), "agent").distinct()
    code = Cast(KT("fault__code"), TextField())
    rows = agents.union(
        _newest(in_error).values_list(Value("fault", TextField()), code).distinct(),
        _newest(LiveStep.objects.filter(state__in=LIVE_STEP_STATES))
        .values_list(Value("step", TextField()), "name")
        .distinct(),
    )
    choices = {"agent": set(), "fault": set(), "step": set()}
    for kind, value in rows:
        if value:
            choices[kind].add(value)
    request._sas_choices = choices  # type: ignore[attr-defined]
    return choices


def _newest(live: QuerySet[LiveStep]) -> QuerySet[Step]:
    newest = live.order_by("-step_id").values("step_id")[:SAMPLED]
    return Step.objects.filter(pk__in=newest).order_by()
