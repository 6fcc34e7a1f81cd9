"""The verbs that may be applied to many processes at once."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from workers import compensation
from workers.admin.verbs.pausing import Pause, Resume
from workers.admin.verbs.rehearsal import NOBODY
from workers.admin.verbs.resubmitting import Resubmit
from workers.admin.verbs.retrying import RetryAll, resting
from workers.admin.verbs.undoing import Cancel
from workers.admin.verbs.verb import Target, Verb
from workers.admin.wording import Text
from workers.models import Step
from workers.states import FINAL_PROCESS_STATES, StepState


@dataclass(frozen=True, slots=True)
class BulkVerb:
    """A verb, and which of the selected processes are worth trying it on."""

    verb: Verb
    #: In the list of actions.
    description: Text
    #: What the steps are to the verb that ``concerned`` returns.
    steps_are: Text
    #: Takes the path to the process (``process__``, or nothing) and the time.
    candidates: Callable[[str, datetime], Q]
    concerned: Callable[[Target], list[str]]

    @property
    def name(self) -> str:
        return self.verb.name


def _open(path: str) -> Q:
    return ~Q(**{f"{path}state__in": FINAL_PROCESS_STATES})


def _with_step(path: str, **wanted: object) -> Q:
    return Q(**{f"{path}pk__in": Step.objects.filter(**wanted).values("process_id")})


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
        lambda path, now: _with_step(path, live__state=StepState.ERROR) & _open(path),
        lambda target: _in_state(target, StepState.ERROR),
    ),
    BulkVerb(
        RetryAll(),
        _("Try selected %(verbose_name_plural)s now"),
        _("Tried now"),
        lambda path, now: _with_step(path, live__state=StepState.PENDING, live__not_before__gt=now),
        resting,
    ),
    BulkVerb(
        Pause(),
        _("Pause selected %(verbose_name_plural)s"),
        _("In flight"),
        lambda path, now: _open(path) & Q(**{f"{path}paused_at__isnull": True}),
        lambda target: _in_state(target, StepState.PROCESSING),
    ),
    BulkVerb(
        Resume(),
        _("Resume selected %(verbose_name_plural)s"),
        _("Pending"),
        lambda path, now: Q(**{f"{path}paused_at__isnull": False}),
        lambda target: _in_state(target, StepState.PENDING),
    ),
    BulkVerb(
        Cancel(),
        _("Cancel selected %(verbose_name_plural)s"),
        _("Undone"),
        lambda path, now: _open(path) & Q(**{f"{path}outcome__isnull": True}),
        _undone,
    ),
)
