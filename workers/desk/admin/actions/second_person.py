"""Verbs that need two persons: the page says so, and asks for approval instead of acting."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from django.utils.translation import gettext as _

from workers.client import operations
from workers.desk.admin.actions.action import Preview, Section, Target, Verb, message_about
from workers.exceptions import StateError
from workers.rules.approved_acts import Act
from workers.rules.transitions import LockedProcess
from workers.rules.two_persons import NEEDS_ANOTHER
from workers.states import PEOPLE
from workers.store.operate import two_persons


def preview(
    sentence: str, stage: LockedProcess, moves: Collection[str], *sections: Section, **facts: Any
) -> Preview:
    """Return the preview of a verb with ``moves``; if it needs two persons, it only asks."""
    why = _why(stage, moves)
    second = Section(_("Takes a second person"), (why,) if why else ())
    view = Preview.saying(sentence, second, *sections, **facts)
    return replace(view, button=_("Ask a second person")) if why else view


def _why(stage: LockedProcess, moves: Collection[str]) -> str:
    """Return why a second person has to approve; empty if none has to."""
    amounts = two_persons.worth([stage.process.id], PEOPLE)
    try:
        two_persons.refuse_alone(stage, moves, PEOPLE, amounts)
    except StateError as refusal:
        worth = _("It is worth %(amount)s, more than %(limit)s.")
        unknown = _("Nobody can say what it is worth.")
        reason = worth % refusal.params if "amount" in refusal.params else unknown
        asks = _("This asks for it: nothing changes before somebody else has approved that.")
        return f"{reason} {asks}"
    return ""


def act_or_ask(verb: Verb, target: Target, actor: str, data: Mapping[str, Any]) -> str:
    """Act, or ask for approval if that takes two persons; return the message to the operator."""
    try:
        return verb.perform(target, actor, dict(data)).message
    except StateError as refusal:
        if refusal.code not in NEEDS_ANOTHER:
            raise
    request = operations.ask_for_approval(
        target.process.pk,
        Act(verb.name, target.step.name if target.step else "", verb.params(target, actor, data)),
        actor=actor,
        reason=data["reason"],
        sequence=data["sequence"],
    )
    text = _("request %(n)d waits for a second person; nothing has changed.")
    return message_about(target, text % {"n": request})
