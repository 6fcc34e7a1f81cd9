"""Orders in flight that need a workflow version, step or agent that the code has lost."""

from collections.abc import Iterable
from typing import Any

from django.db.models import OuterRef, QuerySet, Subquery

from workers.definitions import registry
from workers.definitions.sentences import say as _
from workers.definitions.sentences import say_counted as ngettext
from workers.models import Process, Spec, Step
from workers.ops.doctor.finding import REFUSED, Finding, error
from workers.states import OPEN_PROCESS_STATES, ProcessState, StepState

#: All states that are not final, in two queries: each group has an index of its own.
NOT_FINAL = (sorted(OPEN_PROCESS_STATES), [ProcessState.ERROR])
#: A step in error can be resubmitted: it still needs its agents.
_UNSETTLED = {StepState.WAITING, StepState.PENDING, StepState.PROCESSING, StepState.ERROR}
#: A processed step may have to be undone as long as its process is open.
_STEP_STATES = sorted({*_UNSETTLED, StepState.PROCESSED})
#: The name of a workflow, and its version.
_Version = tuple[str, int]
#: How many processes are read at a time.
PORTION = 1000
_COLUMNS = ("name", "undone", "agent", "spec_digest", "state")


def find_missing() -> list[Finding]:
    """Return one error for each workflow version, step and agent that is needed and missing."""
    missing: dict[tuple[str, str], set[int]] = {}
    for version, steps in _portions():
        # Steps of one declaration are one row.
        for row in steps.values(*_COLUMNS).distinct():
            for thing, alike in _lacking(version, row):
                missing.setdefault(thing, set()).update(
                    steps.filter(**alike).values_list("process", flat=True)
                )
    return [_error(*thing, len(pks)) for thing, pks in sorted(missing.items())]


def _lacking(
    version: _Version, row: dict[str, Any]
) -> Iterable[tuple[tuple[str, str], dict[str, Any]]]:
    """Yield kind and name of what a row needs and the code lacks, and which rows need it alike."""
    label = f"{version[0]} version {version[1]}"
    # The payload of an undo is that of the step it undoes.
    spec_name = row["undone"] or row["name"]
    if not registry.has_workflow(*version):
        yield ("workflow", label), {}
    elif spec_name not in registry.workflow(*version).by_name:
        yield ("step", f"{spec_name} of workflow {label}"), {"name": row["name"]}
    for agent in _agents_of(row):
        if not registry.has_agent(agent):
            yield ("agent", agent), {name: row[name] for name in ("name", "state", "agent")}


def _agents_of(row: dict[str, Any]) -> set[str]:
    """Return the agents that steps of a row may still be sent to."""
    spec = Spec.of([row["spec_digest"]])[row["spec_digest"]]
    names = [(spec.undo or {}).get("agent")]
    if row["state"] in _UNSETTLED:
        names.append(row["agent"])
        for fallback in spec.fallbacks:
            names += [fallback.get("agent"), fallback.get("undo_agent")]
    return {name for name in names if name}


def _portions() -> Iterable[tuple[_Version, "QuerySet[Step]"]]:
    """Yield the steps of all processes that are not over, of some of a version at a time.

    Their steps are read by their ids alone: joined with processes, PostgreSQL would read a whole
    table, of ended orders too, as soon as enough orders are open.
    """
    undone = Step.objects.filter(pk=OuterRef("undoes_id")).order_by().values("name")
    steps = Step.objects.filter(state__in=_STEP_STATES).order_by()
    for states in NOT_FINAL:
        not_final = Process.objects.filter(state__in=states).order_by("pk")
        last, rows = 0, [("", 0, 0)]
        while rows:
            later = not_final.filter(pk__gt=last)
            rows = list(later.values_list("workflow", "version", "pk")[:PORTION])
            ids: dict[_Version, list[int]] = {}
            for workflow, version, last in rows:
                ids.setdefault((workflow, version), []).append(last)
            for key, pks in ids.items():
                yield key, steps.filter(process__in=pks).annotate(undone=Subquery(undone))


def _error(kind: str, name: str, orders: int) -> Finding:
    thing, check = {
        "agent": (_("agent %(name)r", name=name), "workers.E009"),
        "step": (_("step %(name)s", name=name), "workers.E010"),
        "workflow": (_("workflow %(name)s", name=name), "workers.E008"),
    }[kind]
    return error(
        ngettext(
            "%(id)s: %(n)d order in flight needs %(thing)s, which this code does not have",
            "%(id)s: %(n)d orders in flight need %(thing)s, which this code does not have",
            orders,
            id=check,
            thing=thing,
        ),
        REFUSED,
        _(
            "If newer code has it, restart the processes that run this code. Else keep it in the"
            " code until they are over, or cancel them first."
            ' See "System checks" in the documentation.'
        ),
        check=check,
    )
