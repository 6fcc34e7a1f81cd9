"""Orders in flight that need a workflow version, step or agent that the code has lost."""

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from django.core.checks import CheckMessage, Error
from django.core.management.commands.check import Command as CheckCommand
from django.db import Error as DatabaseError
from django.db import transaction
from django.db.models import Q

from workers.definitions import registry
from workers.exceptions import WorkflowError
from workers.models import Step
from workers.states import OPEN_PROCESS_STATES, ProcessState, StepState

#: All states that are not final, in two queries: each group has an index of its own.
_NOT_FINAL = (sorted(OPEN_PROCESS_STATES), [ProcessState.ERROR])
#: A step in error can be resubmitted: it still needs its agents.
_UNSETTLED = {StepState.WAITING, StepState.PENDING, StepState.PROCESSING, StepState.ERROR}
#: A processed step may have to be undone as long as its process is open.
_STEP_STATES = sorted({*_UNSETTLED, StepState.PROCESSED})
_COLUMNS = (
    "process__workflow",
    "process__version",
    "name",
    "undoes__name",
    "agent",
    "undo",
    "fallbacks",
    "state",
)


def check_in_flight(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Refuse a deployment of code that lacks what orders in flight need.

    Answers ``manage.py check`` only.  It must not stop `migrate`, a worker, which leaves unknown
    definitions to others, or `order cancel`, which is a remedy.
    """
    if not is_asked_for():
        return []
    try:
        # A block of its own: a failed statement must not spoil the caller's transaction.
        with transaction.atomic():
            return find_missing()
    except (DatabaseError, WorkflowError):
        # No tables yet, or no database; or workers.E003 reports the definitions.
        return []


def is_asked_for() -> bool:
    """Say whether the command that runs the checks is `check`: Django does not pass it."""
    frame = sys._getframe().f_back
    while frame is not None:
        if isinstance(frame.f_locals.get("self"), CheckCommand):
            return True
        frame = frame.f_back
    return False


@dataclass(frozen=True, slots=True)
class _Need:
    """A definition that steps in flight need, and which steps those are."""

    kind: str
    name: str
    steps: Q


def find_missing() -> list[CheckMessage]:
    """Return one error for each workflow version, step and agent that is needed and missing."""
    missing: dict[tuple[str, str], Q] = {}
    for need in _needs():
        key = (need.kind, need.name)
        missing[key] = missing[key] | need.steps if key in missing else need.steps
    return [_error(kind, name, _orders(steps)) for (kind, name), steps in sorted(missing.items())]


def _needs() -> Iterable[_Need]:
    """Yield what is needed and missing; steps of one declaration count as one row."""
    workflows = {(workflow.name, workflow.version): workflow for workflow in registry.workflows()}
    agents = {agent.name for agent in registry.agents()}
    for values in chain.from_iterable(
        steps.values_list(*_COLUMNS).distinct() for steps in _steps_in_flight()
    ):
        row = dict(zip(_COLUMNS, values, strict=True))
        name, version = row["process__workflow"], row["process__version"]
        same_version = Q(process__workflow=name, process__version=version)
        same_step = same_version & Q(name=row["name"])
        workflow = workflows.get((name, version))
        label = f"{name} version {version}"
        # The payload of an undo is that of the step it undoes.
        spec_name = row["undoes__name"] or row["name"]
        if workflow is None:
            yield _Need("workflow", label, same_version)
        elif spec_name not in workflow.by_name:
            yield _Need("step", f"{spec_name} of workflow {label}", same_step)
        for agent in _agents_of(row) - agents:
            yield _Need("agent", agent, same_step & Q(state=row["state"], agent=row["agent"]))


def _agents_of(row: dict[str, Any]) -> set[str]:
    """Return the agents that steps of a row may still be sent to."""
    undo = row["undo"] or {}
    names = [undo.get("agent")]
    if row["state"] in _UNSETTLED:
        names.append(row["agent"])
        for fallback in row["fallbacks"] or ():
            names += [fallback.get("agent"), fallback.get("undo_agent")]
    return {name for name in names if name}


def _steps_in_flight() -> Iterable[Any]:
    """Yield the steps in flight as unordered querysets."""
    for states in _NOT_FINAL:
        yield Step.objects.filter(process__state__in=states, state__in=_STEP_STATES).order_by()


def _orders(steps: Q) -> int:
    return sum(
        in_flight.filter(steps).values("process").distinct().count()
        for in_flight in _steps_in_flight()
    )


def _error(kind: str, name: str, orders: int) -> Error:
    subject = "1 order in flight needs" if orders == 1 else f"{orders} orders in flight need"
    things = {
        "agent": (f"agent {name!r}", "workers.E009"),
        "step": (f"step {name}", "workers.E010"),
        "workflow": (f"workflow {name}", "workers.E008"),
    }
    thing, check_id = things[kind]
    return Error(
        f"{subject} {thing}, which this code does not have.",
        hint="If newer code has it, restart the processes that run this code. Else keep it in the"
        " code until they are over, or cancel them first."
        ' See "System checks" in the documentation.',
        id=check_id,
    )
