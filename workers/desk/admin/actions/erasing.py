"""Erasing what a process that has ended knows of a person."""

from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from workers.client import operations
from workers.desk.admin.actions import second_person
from workers.desk.admin.actions.action import Preview, Section, Target, Verb, said_of
from workers.store.operate import erase as erasing


class Erase(Verb):
    name = "erase"
    label = lazy("Erase personal data")
    button = lazy("Erase them")
    permission = "erase_process"
    address = "erase/"
    is_grave = True
    is_nudging = False

    def check(self, target: Target) -> None:
        erasing.plan(target.rehearsal.stage())

    def preview(self, target: Target) -> Preview:
        locked = target.rehearsal.stage()
        paths = erasing.plan(locked)
        sentence = _(
            "These parts of the input become ***, and so do their values in results, journal, "
            "notes and the application's own rows. Nobody can bring them back."
        )
        return second_person.preview(sentence, locked, paths, Section(_("Erased"), tuple(paths)))

    def perform(self, target: Target, actor: str, given: dict[str, Any]) -> str:
        def act() -> str:
            operations.erase(target.process.pk, actor=actor, **given)
            return said_of(target, _("its personal data are erased."))

        return second_person.act_or_ask(self.name, act, target, actor, given)
