"""The verbs that may be applied to many processes at once."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _

from workers.desk.admin.actions.action import NOBODY, Target, Verb
from workers.desk.admin.actions.of_processes import Cancel, Pause, Resubmit, Resume
from workers.desk.admin.actions.of_steps import Redo, Retry
from workers.desk.admin.filters import is_paused, not_over, with_step
from workers.desk.admin.wording import Text
from workers.desk.rules.job_verbs import VERBS
from workers.models import Alert, Step
from workers.rules import compensation, operator_commands
from workers.rules.transitions import LockedProcess
from workers.states import PEOPLE, StepState
from workers.store.operate import two_persons


@dataclass(frozen=True, slots=True)
class BulkVerb:
    """A verb of jobs for people: its name, its permission, and the rows worth trying."""

    name: str
    #: The verb on one process, whose label and permission it has.
    verb: Verb
    #: In the list of actions.
    description: Text
    #: What to call the steps that ``concerned`` returns.
    steps_are: Text
    #: Takes the rows, the path to their process (``process__``, or nothing) and the time.
    candidates: Callable[[QuerySet[Any], str, datetime], QuerySet[Any]]
    concerned: Callable[[Target], list[str]]

    @property
    def label(self) -> Text:
        return self.verb.label

    @property
    def permission(self) -> str:
        return self.verb.permission

    def worth(self, process_ids: Collection[int]) -> Mapping[int, Decimal]:
        """Return what processes are worth, if two persons may be needed."""
        return two_persons.worth(process_ids, PEOPLE)

    def refusal(
        self,
        target: Target,
        params: Mapping[str, Any],
        amounts: Mapping[int, Decimal],
    ) -> str:
        """Return why a job would leave a process as it is; empty if it would change it.

        ``amounts`` is what ``worth`` returned.
        """

        def act(stage: LockedProcess) -> None:
            moves = VERBS[self.name](stage, NOBODY, "", params)
            two_persons.refuse_alone(stage, moves, PEOPLE, amounts)

        return target.rehearsal.refusal(act)


def _in_state(target: Target, state: str) -> list[str]:
    return [step.name for step in target.process.steps.all() if step.state == state]


def _steps_to_retry(target: Target) -> list[str]:
    # Not all steps in error: while compensating, only undo steps are tried again.
    stage = target.rehearsal.stage()
    return operator_commands.resubmit(stage, NOBODY, "", nothing_happened=True)


def _with_skip_alert(rows: QuerySet[Any], path: str, now: datetime) -> QuerySet[Any]:
    """Keep the rows with an open alert about a skipped step: skipped steps are too many."""
    alerts = Alert.objects.filter(code="step_skipped", resolved_at=None, process__isnull=False)
    return rows.filter(**{f"{path}pk__in": alerts.order_by().values("process")})


def _steps_to_undo(target: Target) -> list[str]:
    plan = compensation.begin(target.rehearsal.stage(), Cancel.end, NOBODY, "")
    return [undo.name for undo in plan.undo]


KINDS: tuple[BulkVerb, ...] = (
    BulkVerb(
        "resubmit",
        Resubmit(),
        _("Resubmit selected %(verbose_name_plural)s in error"),
        _("Tried again"),
        lambda rows, path, now: with_step(rows, path, Step.objects.filter(state=StepState.ERROR)),
        _steps_to_retry,
    ),
    BulkVerb(
        "redo",
        Redo(),
        _("Do skipped steps of selected %(verbose_name_plural)s again"),
        _("Done again"),
        _with_skip_alert,
        lambda target: operator_commands.left_out(target.rehearsal.stage()),
    ),
    BulkVerb(
        "retry",
        Retry(),
        _("Try selected %(verbose_name_plural)s now"),
        _("Tried now"),
        lambda rows, path, now: with_step(
            rows, path, Step.objects.filter(state=StepState.PENDING, not_before__gt=now)
        ),
        lambda target: operator_commands.resting(target.rehearsal.stage()),
    ),
    BulkVerb(
        "pause",
        Pause(),
        _("Pause selected %(verbose_name_plural)s"),
        _("In flight"),
        lambda rows, path, now: not_over(rows, path).filter(**{f"{path}paused_at__isnull": True}),
        lambda target: _in_state(target, StepState.PROCESSING),
    ),
    BulkVerb(
        "resume",
        Resume(),
        _("Resume selected %(verbose_name_plural)s"),
        _("Pending"),
        lambda rows, path, now: rows.filter(is_paused(path)),
        lambda target: _in_state(target, StepState.PENDING),
    ),
    BulkVerb(
        "cancel",
        Cancel(),
        _("Cancel selected %(verbose_name_plural)s"),
        _("Undone"),
        lambda rows, path, now: not_over(rows, path).filter(**{f"{path}outcome__isnull": True}),
        _steps_to_undo,
    ),
)
BY_NAME: Mapping[str, BulkVerb] = {bulk.name: bulk for bulk in KINDS}


def label_of(name: str) -> Text:
    """Return the label of a job's verb, or its name if this code does not know it."""
    return BY_NAME[name].label if name in BY_NAME else name
