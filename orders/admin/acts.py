"""Actions on dead letters: what each needs, who may perform it, and how it is carried out."""

from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.contrib.admin.models import CHANGE, LogEntry
from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy
from django.utils.translation import ngettext

from orders import dead_letters
from orders.dead_letters import NotNow
from orders.models import DeadLetter
from orders.reasons import Refused
from workers.desk.admin.actions.available import Offer
from workers.desk.admin.actions.page import actor

PERMISSION = "orders.resolve_dead_letter"
CORRECT = "orders.correct_dead_letter"


@dataclass(frozen=True, slots=True)
class Act:
    """An action of an operator on a dead letter."""

    name: str
    label: Any
    #: Its label in the list's menu of actions.
    description: Any
    sentence: Any
    #: The state that a dead letter must be in.
    state: str
    needs_reason: bool = False
    is_grave: bool = True
    #: Whether the sender must be proven, or vouched for by the operator.
    asks_proof: bool = False


ACTS = (
    Act(
        "replay",
        lazy("Replay"),
        lazy("Replay selected dead letters"),
        lazy(
            "The message is checked again and its order placed, as its client and under its "
            "message id. Its token is not checked again: you vouch for it."
        ),
        DeadLetter.State.OPEN,
        asks_proof=True,
    ),
    Act(
        "note",
        lazy("Write a note"),
        lazy("Write a note on selected dead letters"),
        lazy("It is kept with the message, for whoever looks next. Nothing else changes."),
        DeadLetter.State.OPEN,
        needs_reason=True,
        is_grave=False,
    ),
    Act(
        "discard",
        lazy("Discard"),
        lazy("Discard selected dead letters"),
        lazy("Nothing will come of the message. It is kept, and can be restored."),
        DeadLetter.State.OPEN,
        needs_reason=True,
    ),
    Act(
        "restore",
        lazy("Restore"),
        lazy("Restore selected dead letters that were discarded"),
        lazy("The dead letter is open again, to be replayed or discarded."),
        DeadLetter.State.DISCARDED,
    ),
)


def may(request: HttpRequest) -> bool:
    """Say whether the user of a request may act on dead letters."""
    return request.user.has_perm(PERMISSION)


def offers(request: HttpRequest, letter: DeadLetter) -> list[Offer]:
    """Return the actions that the user may perform on a dead letter now."""
    available = []
    if letter.state == DeadLetter.State.OPEN and request.user.has_perm(CORRECT):
        url = reverse("admin:orders_deadletter_correct", args=[letter.pk])
        available.append(Offer(_("Correct and replay"), url, "correct", False))
    if not may(request):
        return available
    return available + [
        Offer(
            act.label,
            reverse(f"admin:orders_deadletter_{act.name}", args=[letter.pk]),
            act.name,
            act.needs_reason and act.is_grave,
        )
        for act in ACTS
        if act.state == letter.state
    ]


def carry_out(
    request: HttpRequest, act: Act, ids: list[int], reason: str, *, unproven: bool = False
) -> list[str]:
    """Act on each dead letter separately, log the changes, and return the refusals.

    ``unproven``: the operator vouches for senders that are not proven.
    """
    refusals, changed = [], []
    options = {"unproven": unproven} if act.asks_proof else {}
    for pk in ids:
        try:
            dead_letters.VERBS[act.name](pk, actor=actor(request), reason=reason, **options)
        except NotNow as error:
            refusals.append(str(error))
        except Refused as error:
            params = {"pk": pk, "why": str(error).rstrip(".")}
            refusals.append(_("Dead letter %(pk)d: %(why)s.") % params)
        else:
            changed.append(pk)
    if changed:
        assert request.user.pk is not None
        LogEntry.objects.log_actions(
            user_id=request.user.pk,
            queryset=DeadLetter.objects.defer("body").filter(pk__in=changed),
            action_flag=CHANGE,
            change_message=f"{act.label} {reason}".strip(),
        )
        text = ngettext("%(act)s: %(n)d changed.", "%(act)s: %(n)d changed.", len(changed))
        messages.success(request, text % {"act": act.label, "n": len(changed)})
    return refusals
