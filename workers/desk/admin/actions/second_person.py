"""Verbs that take two persons: the page says so, and asks instead of acting."""

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any

from django.utils.translation import gettext as _

from workers.client import operations
from workers.desk.admin.actions.action import Preview, Section, Target, said_of
from workers.exceptions import StateError
from workers.rules.approved_acts import Act
from workers.rules.transitions import LockedProcess
from workers.rules.two_persons import NEEDS_ANOTHER
from workers.states import PEOPLE
from workers.store.operate import two_persons


def preview(
    sentence: str, locked: LockedProcess, moves: Collection[str], *sections: Section
) -> Preview:
    """Return the preview of a verb that moves something; where it takes two it only asks."""
    why = _why(locked, moves)
    second = Section(_("Takes a second person"), (why,) if why else ())
    shown = Preview.saying(sentence, second, *sections)
    return replace(shown, button=_("Ask a second person")) if why else shown


def _why(locked: LockedProcess, moves: Collection[str]) -> str:
    """Return why somebody else has to approve; empty: nobody has to."""
    known = two_persons.worth([locked.process.id], PEOPLE)
    try:
        two_persons.refuse_alone(locked, moves, PEOPLE, known)
    except StateError as refusal:
        worth = _("It is worth %(amount)s, more than %(limit)s.")
        unknown = _("Nobody can say what it is worth.")
        so_much = worth % refusal.params if "amount" in refusal.params else unknown
        asks = _("This asks for it: nothing changes before somebody else has approved that.")
        return f"{so_much} {asks}"
    return ""


def act_or_ask(
    verb: str,
    act: Callable[[], str],
    target: Target,
    actor: str,
    form: dict[str, Any],
    *,
    given: dict[str, Any] | None = None,
) -> str:
    """Act; where that takes two persons, ask for it instead.  Returns what to tell the operator.

    ``given`` is what the verb takes beside what the form of every verb has.
    """
    try:
        return act()
    except StateError as refusal:
        if refusal.code not in NEEDS_ANOTHER:
            raise
    request = operations.ask_for_approval(
        target.process.pk,
        Act(verb, target.step.name if target.step else "", given or {}),
        actor=actor,
        reason=form["reason"],
        sequence=form["sequence"],
    )
    said = _("request %(n)d waits for a second person; nothing has changed.")
    return said_of(target, said % {"n": request})
