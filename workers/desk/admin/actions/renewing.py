"""Beginning again from an earlier step."""

from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from workers.client import operations
from workers.definitions.sentences import in_words, say_names
from workers.desk.admin.actions import second_person, undoing
from workers.desk.admin.actions.action import (
    Outcome,
    Preview,
    Section,
    Target,
    Verb,
    outcome_about,
)
from workers.desk.admin.actions.dry_run import NOBODY
from workers.rules import restart
from workers.rules.approved_acts import of_plan


class BeginAgain(Verb):
    name = "begin_again"
    label = lazy("Begin again from here")
    button = lazy("Begin again")
    permission = "renew_process"
    address = "begin-again/<str:step>/"
    is_grave = True

    def check(self, target: Target) -> None:
        restart.steps_from(target.rehearsal.stage(), target.step_name)

    def preview(self, target: Target) -> Preview:
        stage = target.rehearsal.stage()
        plan = restart.begin(stage, target.step_name, NOBODY, "")
        sentence = _(
            "%(step)s and what came after it are undone and then done again, each with a new "
            "idempotency key; %(subject)s goes on from there by itself."
        ) % {"step": target.step_name, "subject": target.process.subject}
        return second_person.preview(
            sentence,
            stage,
            of_plan(plan.undo),
            *undoing.sections(stage, plan.undo),
            Section(_("Begin again"), plan.steps, is_ordered=True),
            steps=list(plan.steps),
            **undoing.facts(plan.undo),
        )

    def perform(self, target: Target, actor: str, data: dict[str, Any]) -> Outcome:
        plan = operations.begin_again(target.process.pk, target.step_name, actor=actor, **data)
        text = _("begins again: %(steps)s.") % {"steps": in_words(say_names(plan.steps))}
        return outcome_about(target, text, steps=list(plan.steps), **undoing.facts(plan.undo))
