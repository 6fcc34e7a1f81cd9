"""List filters about a process, for any list of rows that each have one.

The list's admin says in ``process_path`` how a row leads to its process: ``process__``, or
nothing where the rows are processes.
"""

from collections.abc import Iterable
from typing import Any

from django.contrib import admin
from django.db.models import Exists, Model, OuterRef, Q, QuerySet, TextField
from django.db.models.fields.json import KT
from django.db.models.functions import Cast
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from workers.admin import wording
from workers.models import Alert, Journal, Step
from workers.states import FINAL_PROCESS_STATES, LIVE_STEP_STATES, ProcessState, StepState


class ProcessFilter(admin.SimpleListFilter):
    """A filter whose condition is told by its value and the path to the process."""

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
        return queryset.filter(self.condition(value))

    def condition(self, value: str) -> Q | Exists:
        raise NotImplementedError

    def named(self, request: HttpRequest, names: Iterable[str]) -> list[tuple[str, str]]:
        """Return names as choices, the chosen one among them even where nothing has it now.

        Else the filter would vanish, and the list would show everything, at the very moment
        that its last row moves on.
        """
        # Counting makes every filter anew for every filter: the names are read once.
        known: dict[str, set[str]] = request.__dict__.setdefault("sas_filter_names", {})
        key = str(self.parameter_name)
        if key not in known:
            known[key] = set(names)
        chosen = self.value()
        return [(name, name) for name in sorted(known[key] | ({chosen} if chosen else set()))]


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

    def condition(self, value: str) -> Q | Exists:
        match value:
            case "error":
                return Q(**{f"{self.path}state": ProcessState.ERROR})
            case "alert":
                return Exists(Alert.objects.filter(process=self._outer(), acknowledged_at=None))
            case "expired":
                # Of those that are not over: one that recovered by itself needs nobody.
                again = Journal.objects.filter(process=self._outer(), event="expired")[1:2]
                is_over = Q(**{f"{self.path}state__in": FINAL_PROCESS_STATES})
                return ~is_over & Q(Exists(again))
        return (
            Q(self.condition("error")) | Q(self.condition("alert")) | Q(self.condition("expired"))
        )

    def _outer(self) -> OuterRef:
        return OuterRef(f"{self.path}pk")


class StateFilter(ProcessFilter):
    title = _("process state")
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [(state, wording.state(state)) for state in ProcessState.values]

    def condition(self, value: str) -> Q:
        return Q(**{f"{self.path}state": value})


class CurrentStepFilter(ProcessFilter):
    title = _("current step")
    parameter_name = "step"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        names = Step.objects.filter(live__state__in=LIVE_STEP_STATES).order_by()
        return self.named(request, names.values_list("name", flat=True).distinct())

    def condition(self, value: str) -> Q:
        return _has_step(self.path, name=value, live__state__in=LIVE_STEP_STATES)


class AgentInErrorFilter(ProcessFilter):
    title = _("agent in error")
    parameter_name = "agent"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        agents = Step.objects.filter(live__state=StepState.ERROR).order_by()
        return self.named(request, agents.values_list("agent", flat=True).distinct())

    def condition(self, value: str) -> Q:
        return _has_step(self.path, agent=value, live__state=StepState.ERROR)


class FaultFilter(ProcessFilter):
    title = _("fault in error")
    parameter_name = "fault"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        codes = _faulty().filter(code__isnull=False).order_by()
        return self.named(request, codes.values_list("code", flat=True).distinct())

    def condition(self, value: str) -> Q:
        return Q(**{f"{self.path}pk__in": _faulty().filter(code=value).values("process_id")})


def _faulty() -> QuerySet[Any]:
    """Return the steps in error, with the codes of their faults as text.

    As JSON, one that looks like a number would be compared as one.
    """
    code = Cast(KT("fault__code"), TextField())
    return Step.objects.filter(live__state=StepState.ERROR).annotate(code=code)


def _has_step(path: str, **wanted: Any) -> Q:
    return Q(**{f"{path}pk__in": Step.objects.filter(**wanted).values("process_id")})
