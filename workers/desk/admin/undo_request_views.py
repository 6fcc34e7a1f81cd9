"""Deciding on requests for approval, and finding those that wait: for page, list and desk."""

from datetime import datetime
from typing import Any

from django import forms
from django.db.models import F, QuerySet
from django.db.models.functions import Now
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from workers.client import operations
from workers.definitions.sentences import in_words, say_names
from workers.desk.admin.actions import BY_NAME
from workers.desk.admin.actions.page import actor
from workers.desk.admin.actions.row_act import RowAct
from workers.exceptions import StateError
from workers.models import Process, UndoRequest
from workers.rules.refusals import refused
from workers.rules.two_persons import GOOD_FOR, refuse_if_expired
from workers.states import UndoRequestState
from workers.store.operate.undo_requests import has_moved

PERMISSION = "workers.decide_undorequest"
APPROVE, DECLINE = "approve", "decline"


class DecisionForm(forms.Form):
    """Asks which button was pressed, and for a comment, which is required to decline."""

    decision = forms.ChoiceField(
        choices=[(APPROVE, ""), (DECLINE, "")], widget=forms.HiddenInput, required=True
    )
    comment = forms.CharField(
        label=lazy("Comment"),
        required=False,
        max_length=500,
        help_text=lazy("Kept in the journal with your name. Needed to decline."),
        widget=forms.Textarea(attrs={"rows": 3}),
    )

    def clean_comment(self) -> str:
        comment: str = self.cleaned_data["comment"]
        if self.cleaned_data.get("decision") == DECLINE and not comment:
            raise forms.ValidationError(_("Say why it is declined."))
        return comment


def may(request: HttpRequest) -> bool:
    return bool(request.user.has_perm(PERMISSION))


def is_own(request: HttpRequest, row: UndoRequest) -> bool:
    return row.asked_by == actor(request)


def may_decide(request: HttpRequest, row: UndoRequest) -> bool:
    """Return whether the user may decide on a request now: it waits, and is somebody else's."""
    is_waiting = row.state == UndoRequestState.WAITING
    return may(request) and is_waiting and not is_own(request, row)


def waiting(rows: QuerySet[UndoRequest]) -> QuerySet[UndoRequest]:
    """Keep the requests that wait and are still good."""
    return rows.filter(
        state=UndoRequestState.WAITING,
        asked_at__gte=Now() - GOOD_FOR,
        process__sequence=F("sequence"),
    )


def may_see(request: HttpRequest) -> bool:
    """Return whether the user may see requests: deciding includes seeing."""
    return may(request) or request.user.has_perm("workers.view_undorequest")


def label_of(row: UndoRequest) -> str:
    """Return the verb that is asked for; one that this code does not have, by its name."""
    return str(BY_NAME[row.verb].label) if row.verb in BY_NAME else row.verb


def of_process(process: Process) -> UndoRequest | None:
    """Return the request of a process that waits and is still good."""
    return waiting(UndoRequest.objects.filter(process=process.pk)).first()


def over(row: UndoRequest, now: datetime) -> str:
    """Return why a request that waits can no longer be approved; empty if it can, or is decided."""
    if row.state != UndoRequestState.WAITING:
        return ""
    try:
        refuse_if_expired(row.pk, row.asked_at, now)
    except StateError as refusal:
        return str(refusal)
    if has_moved(row, row.process.sequence):
        return str(refused("undo_moved", subject=row.process.subject))
    return ""


class Decide(RowAct):
    """Approve or decline, and show the request as it is now."""

    name = "decide"
    model = UndoRequest
    permission = PERMISSION
    form = DecisionForm
    has_page = False
    leads_to_row = True

    def perform(self, request: HttpRequest, row: UndoRequest, data: dict[str, Any]) -> str:
        decision = operations.decide_approval(
            row.pk,
            is_approved=data["decision"] == APPROVE,
            actor=actor(request),
            reason=data["comment"],
        )
        if decision.refusal is not None:
            raise StateError(_("Declined: %(why)s") % {"why": decision.refusal})
        if decision.moves is None:
            return _("Request %(n)d is declined: nothing changes.") % {"n": row.pk}
        names = in_words(say_names(decision.moves))
        params = {"n": row.pk, "what": label_of(row), "names": names}
        return _("Request %(n)d is approved and carried out. %(what)s: %(names)s.") % params


DECIDE = Decide()
