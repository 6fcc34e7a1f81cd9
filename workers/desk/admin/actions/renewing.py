"""Beginning again from an earlier step."""

from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from workers.client import operations
from workers.definitions.sentences import in_words, say_names
from workers.desk.admin.actions import second_person, undoing
from workers.desk.admin.actions.action import Preview, Section, Target, Verb, said_of
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
        restart.chosen(target.rehearsal.stage(), target.step_name)

    def preview(self, target: Target) -> Preview:
        locked = target.rehearsal.stage()
        found = restart.begin(locked, target.step_name, NOBODY, "")
        sentence = _(
            "%(step)s and what came after it are undone and then done again, each with a new "
            "idempotency key; %(subject)s goes on from there by itself."
        ) % {"step": target.step_name, "subject": target.process.subject}
        return second_person.preview(
            sentence,
            locked,
            of_plan(found.undo),
            *undoing.sections(locked, found.undo),
            Section(_("Begin again"), found.steps, is_ordered=True),
        )

    def perform(self, target: Target, actor: str, given: dict[str, Any]) -> str:
        return second_person.act_or_ask(
            self.name, lambda: self._begin_again(target, actor, given), target, actor, given
        )

    def _begin_again(self, target: Target, actor: str, given: dict[str, Any]) -> str:
        found = operations.begin_again(target.process.pk, target.step_name, actor=actor, **given)
        steps = in_words(say_names(found.steps))
        return said_of(target, _("begins again: %(steps)s.") % {"steps": steps})
