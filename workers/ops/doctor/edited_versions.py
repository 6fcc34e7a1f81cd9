"""Released workflow versions that were edited: processes under way began with other steps."""

import json
from collections.abc import Iterable
from hashlib import sha256
from typing import Any

from django.db.models import Max, Min

from workers.definitions import registry
from workers.definitions.sentences import say as _
from workers.definitions.workflow import StepSpec, Workflow
from workers.models import Process, Step
from workers.ops.doctor.finding import REFUSED, Finding, warning
from workers.ops.doctor.in_flight import NOT_FINAL

#: What of a step may change with a new version only, and in what words a change is named.
_PARTS = {
    "after": "comes after others",
    "agent": "has another agent",
    "undo": "has another undo",
    "is_judged": "has another condition or date",
    "unless": "is made needless by another step",
}
Shape = dict[str, dict[str, Any]]


def find_edited() -> list[Finding]:
    """Return a warning for each version whose processes under way have other steps than the code.

    The oldest and the newest process of each version are compared with it.
    """
    workflows = {(workflow.name, workflow.version): workflow for workflow in registry.workflows()}
    processes = {process.pk: process for process in _examples()}
    rows = Step.objects.filter(process__in=processes, undoes=None).order_by("process", "position")
    steps: dict[int, list[Step]] = {pk: [] for pk in processes}
    for row in rows.only("process", "name", "agent", "spec_digest"):
        steps[row.process_id].append(row)
    warnings = {}
    for pk, process in processes.items():
        key = (process.workflow, process.version)
        workflow = workflows.get(key)
        if workflow is None or key in warnings:
            continue
        began, now = _of_rows(steps[pk], workflow), _of_code(workflow)
        if _fingerprint(began) != _fingerprint(now):
            warnings[key] = _warning(process, began, now)
    return list(warnings.values())


def _examples() -> Iterable[Process]:
    ids: set[int] = set()
    for states in NOT_FINAL:
        groups = Process.objects.filter(state__in=states).order_by()
        for group in groups.values("workflow", "version").annotate(Min("pk"), Max("pk")):
            ids |= {group["pk__min"], group["pk__max"]}
    return Process.objects.filter(pk__in=ids).order_by("pk")


def _of_code(workflow: Workflow) -> Shape:
    return {
        spec.name: {
            "after": sorted(spec.after),
            "agent": spec.agent,
            "undo": None if spec.undo is None else [spec.undo.name, spec.undo.agent],
            "is_judged": spec.is_judged,
            "unless": spec.unless if isinstance(spec.unless, str) else "",
        }
        for spec in workflow.steps
    }


def _of_rows(rows: Iterable[Step], workflow: Workflow) -> Shape:
    shape = {}
    for row in rows:
        spec, undo = workflow.by_name.get(row.name), row.spec.undo
        shape[row.name] = {
            "after": sorted(row.spec.after),
            "agent": _as_declared(row.agent, spec),
            "undo": undo and [undo["name"], _as_declared(undo["agent"], spec, is_undo=True)],
            "is_judged": row.spec.is_judged,
            "unless": row.spec.unless,
        }
    return shape


def _as_declared(agent: str, spec: StepSpec | None, *, is_undo: bool = False) -> str:
    """Return a step's first agent for one that it fell back to, and the same of its undo."""
    if spec is None or (is_undo and spec.undo is None):
        return agent
    first = spec.undo.agent if is_undo and spec.undo else spec.agent
    others = {fallback.undo_agent if is_undo else fallback.agent for fallback in spec.fallbacks}
    return first if agent in others else agent


def _fingerprint(shape: Shape) -> str:
    return sha256(json.dumps(list(shape.items())).encode()).hexdigest()[:8]


def _warning(process: Process, began: Shape, now: Shape) -> Finding:
    changes = [f"step {name} is gone" for name in began if name not in now]
    changes += [f"step {name} is new" for name in now if name not in began]
    for name in began:
        if name in now:
            parts = [_PARTS[part] for part in _PARTS if began[name][part] != now[name][part]]
            changes += [f"step {name} {part}" for part in parts]
    changes = changes or ["its steps have another order"]
    return warning(
        _(
            "workers.W016: Workflow %(workflow)s version %(version)d was edited after it was"
            " released: %(subject)s began with the steps %(before)s, this code has %(after)s:"
            " %(changes)s",
            workflow=process.workflow,
            version=process.version,
            subject=process.subject,
            before=_fingerprint(began),
            after=_fingerprint(now),
            changes=", ".join(changes),
        ),
        REFUSED,
        _("Give it its steps back, and make the change the next version."),
        check="workers.W016",
    )
