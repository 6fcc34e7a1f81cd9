"""The verbs that may be applied to many processes at once."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _

from workers.admin.actions.action import Target, Verb
from workers.admin.actions.dry_run import NOBODY
from workers.admin.actions.pausing import Pause, Resume
from workers.admin.actions.resubmitting import Resubmit
from workers.admin.actions.retrying import RetryAll, resting
from workers.admin.actions.undoing import Cancel
from workers.admin.filters import not_over, with_step
from workers.admin.wait_filters import is_paused
from workers.admin.wording import Text
from workers.models import Step
from workers.rules import compensation
from workers.states import StepState


@dataclass(frozen=True, slots=True)
class BulkVerb:
    """A verb, and which of the selected processes are worth trying it on."""

    verb: Verb
    #: In the list of actions.
    description: Text
    #: What the steps are to the verb that ``concerned`` returns.
    steps_are: Text
    #: Takes the rows, the path to their process (``process__``, or nothing) and the time.
    candidates: Callable[[QuerySet[Any], str, datetime], QuerySet[Any]]
    concerned: Callable[[Target], list[str]]

    @property
    def name(self) -> str:
        return self.verb.name


def _in_state(target: Target, state: str) -> list[str]:
    return [step.name for step in target.process.steps.all() if step.state == state]


def _undone(target: Target) -> list[str]:
    plan = compensation.begin(target.rehearsal.stage(), Cancel.outcome, NOBODY, "")
    return [planned.name for planned in plan.undo]


KINDS: tuple[BulkVerb, ...] = (
    BulkVerb(
        Resubmit(),
        _("Resubmit selected %(verbose_name_plural)s in error"),
        _("Failed at"),
        lambda rows, path, now: with_step(rows, path, Step.objects.filter(state=StepState.ERROR)),
        lambda target: _in_state(target, StepState.ERROR),
    ),
    BulkVerb(
        RetryAll(),
        _("Try selected %(verbose_name_plural)s now"),
        _("Tried now"),
        lambda rows, path, now: with_step(
            rows, path, Step.objects.filter(state=StepState.PENDING, not_before__gt=now)
        ),
        resting,
    ),
    BulkVerb(
        Pause(),
        _("Pause selected %(verbose_name_plural)s"),
        _("In flight"),
        lambda rows, path, now: not_over(rows, path).filter(**{f"{path}paused_at__isnull": True}),
        lambda target: _in_state(target, StepState.PROCESSING),
    ),
    BulkVerb(
        Resume(),
        _("Resume selected %(verbose_name_plural)s"),
        _("Pending"),
        lambda rows, path, now: rows.filter(is_paused(path)),
        lambda target: _in_state(target, StepState.PENDING),
    ),
    BulkVerb(
        Cancel(),
        _("Cancel selected %(verbose_name_plural)s"),
        _("Undone"),
        lambda rows, path, now: not_over(rows, path).filter(**{f"{path}outcome__isnull": True}),
        _undone,
    ),
)
