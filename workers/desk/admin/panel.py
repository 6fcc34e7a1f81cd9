"""Everything an operator sees of one process: headline, steps, alerts, timeline."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from workers.client.progress import ProcessProgress, StepProgress
from workers.desk.admin import badges, child_groups, masking, snapshot, timeline
from workers.desk.admin.child_groups import ChildGroupLine, ParentLine
from workers.desk.admin.masking import Mask
from workers.desk.admin.snapshot import ProcessSnapshot
from workers.desk.admin.timeline import Timeline
from workers.desk.texts import alert_texts
from workers.models import Alert, Process, Step
from workers.rules import attributes
from workers.states import StepState
from workers.store.attributes import of_processes


@dataclass(frozen=True, slots=True)
class StepLine:
    """One step: its row, its progress, and both in words."""

    step: Step
    progress: StepProgress
    clock: SafeString | str
    fault: str
    result: str

    @property
    def shown_fault(self) -> str:
        """Return the fault, unless the explanation tells it already."""
        fault = self.step.fault
        message = fault.get("message") if isinstance(fault, dict) else None
        return "" if message and message in self.progress.explanation else self.fault


#: Steps on a page: a process may have thousands, and each is rendered with all of its verbs.
STEPS_SHOWN = 100
#: Newest alerts on a page.
ALERTS_SHOWN = 20


@dataclass(frozen=True, slots=True)
class StepRange:
    """The range of steps that a page of a process shows."""

    first: int
    total: int

    @classmethod
    def around(cls, progress: ProcessProgress, index: int | None) -> "StepRange":
        """Return the range with the step at ``index``; if that is None, with the current step."""
        steps = progress.steps
        if index is None:
            index = steps.index(progress.current) if progress.current else 0
        index = min(index, max(len(steps) - 1, 0))
        return cls(index - index % STEPS_SHOWN, len(steps))

    @property
    def end(self) -> int:
        return min(self.first + STEPS_SHOWN, self.total)

    @property
    def is_part(self) -> bool:
        return self.total > STEPS_SHOWN

    @property
    def number(self) -> int:
        """Return the number of the first step, counted from 1."""
        return self.first + 1

    @property
    def earlier(self) -> int | None:
        return self.first - STEPS_SHOWN if self.first else None

    @property
    def later(self) -> int | None:
        return self.end if self.end < self.total else None


@dataclass(frozen=True, slots=True)
class Panel:
    """One process at one instant, for ``process/*.html``."""

    standing: ProcessSnapshot
    #: The steps of the range.
    steps: tuple[StepLine, ...]
    range: StepRange
    timeline: Timeline
    alerts: tuple[Alert, ...]
    #: What it is found by, masked.
    attributes: Mapping[str, str]
    #: Hides personal data from users who may not see it now.
    mask: Mask
    #: Its child groups, and the process of which it is a child.
    children: Sequence[ChildGroupLine]
    parent: ParentLine | None

    @property
    def process(self) -> Process:
        return self.standing.process

    @property
    def input(self) -> str:
        return pretty(self.process.input)

    @property
    def headline(self) -> str:
        return self.standing.progress.headline

    @property
    def now(self) -> datetime:
        return self.standing.now

    @property
    def server_now(self) -> str:
        return self.standing.now.isoformat()


def of(process: Process, mask: Mask, before: int | None = None, index: int | None = None) -> Panel:
    """Return the panel of a process that was fetched ``snapshot.with_steps``.

    The process is masked in memory and not to be saved.  ``before`` turns the timeline back,
    ``index`` is that of a step to show.
    """
    masking.conceal(process, mask)
    standing = snapshot.at_once(process, mask)
    step_range = StepRange.around(standing.progress, index)
    steps = standing.progress.steps[step_range.first : step_range.end]
    step_rows = Step.objects.filter(process=process, name__in=[step.name for step in steps])
    results = {name: mask.value(result) for name, result in step_rows.values_list("name", "result")}
    rows = {step.name: step for step in process.steps.all()}
    return Panel(
        standing=standing,
        steps=tuple(
            _line(rows[step.name], step, results.get(step.name), standing) for step in steps
        ),
        range=step_range,
        timeline=timeline.read(process, before, mask=mask),
        alerts=_alerts(process, mask),
        attributes=attributes.masked(of_processes([process]).get(process.pk, {}), mask),
        mask=mask,
        children=child_groups.of(process, mask),
        parent=child_groups.parent_of(process, mask),
    )


def _alerts(process: Process, mask: Mask) -> tuple[Alert, ...]:
    alerts = process.alerts.select_related("acknowledged_by").order_by("-id")[:ALERTS_SHOWN]
    for alert in alerts:
        alert.message = mask.text(alert_texts.message(alert.code, alert.params, alert.message))
        alert.comment = mask.text(alert.comment)
    return tuple(alerts)


def _line(step: Step, progress: StepProgress, result: Any, standing: ProcessSnapshot) -> StepLine:
    return StepLine(
        step=step,
        progress=progress,
        clock=_clock(step, progress, standing),
        fault=badges.fault_text(step.fault),
        result="" if result is None else pretty(result),
    )


def _clock(step: Step, progress: StepProgress, standing: ProcessSnapshot) -> SafeString | str:
    """Return the clock that runs for a step: its deadline, or the wait for its next attempt."""
    if step.finished_at is not None:
        return ""
    if step.state == StepState.PENDING and progress.retry_seconds is not None:
        return badges.countdown(step.not_before, standing.now, _("again in %s"), _("due"))
    return badges.countdown(step.due_by, standing.now, is_alarm=True)


def pretty(value: Any) -> str:
    """Return JSON for people."""
    return json.dumps(value, ensure_ascii=False, indent=2, default=str)
