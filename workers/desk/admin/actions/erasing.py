"""Erasing the personal data of a process that has ended."""

from typing import Any, ClassVar

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from workers.desk.admin.actions import second_person
from workers.desk.admin.actions.action import (
    Outcome,
    Preview,
    Section,
    Target,
    Verb,
    outcome_about,
)
from workers.privacy import erase as erasing


class Erase(Verb):
    name = "erase"
    label = lazy("Erase personal data")
    button = lazy("Erase them")
    permission = "erase_process"
    address = "erase/"
    is_grave = True
    events: ClassVar = {"erased": lazy("Its personal data were erased")}

    def check(self, target: Target) -> None:
        erasing.plan(target.rehearsal.stage())

    def preview(self, target: Target) -> Preview:
        stage = target.rehearsal.stage()
        paths = erasing.plan(stage)
        sentence = _(
            "These parts of the input become ***, and so do their values in results, journal, "
            "notes and the application's own rows. Nobody can bring them back."
        )
        erased = Section(_("Erased"), tuple(paths))
        return second_person.preview(sentence, stage, paths, erased, erased=paths)

    def perform(self, target: Target, actor: str, data: dict[str, Any]) -> Outcome:
        paths = erasing.erase(target.process.pk, actor=actor, **data)
        return outcome_about(target, _("its personal data are erased."), erased=paths)
