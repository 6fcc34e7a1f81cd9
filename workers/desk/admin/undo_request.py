"""Requests for approval: those that wait, the decisions on the others, deciding on one."""

from datetime import datetime
from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.db.models import F, QuerySet
from django.db.models.functions import Now
from django.http import HttpRequest
from django.urls import reverse
from django.utils.formats import number_format
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from workers.admin import ReadOnlyAdmin
from workers.client import operations
from workers.definitions.sentences import in_words, say_names
from workers.desk.admin import badges, masking, piles, showing, subjects
from workers.desk.admin.actions import BY_NAME
from workers.desk.admin.actions.page import actor
from workers.desk.admin.actions.row_act import RowAct
from workers.desk.admin.list_filter import list_filter
from workers.desk.admin.lists import LiveListAdmin, column, set_now
from workers.desk.admin.panel import pretty
from workers.desk.admin.piles import Kind, WaitingPile
from workers.desk.admin.row_page import RowPageAdmin
from workers.exceptions import StateError
from workers.models import Process, UndoRequest
from workers.rules.refusals import refused, text_of
from workers.rules.two_persons import GOOD_FOR, refuse_if_expired
from workers.states import PEOPLE, UndoRequestState
from workers.store.db import dialect
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


piles.register(
    WaitingPile(
        "undo_requests",
        lazy("Requests for approval"),
        lambda: Kind(waiting(UndoRequest.objects.all()), "asked_at"),
        *("admin:workers_undorequest_changelist", "is=waiting", "workers.view_undorequest"),
    )
)

#: By state of a request: the state of a step whose shape and tone it has.
LOOKS = {
    UndoRequestState.WAITING: "pending",
    UndoRequestState.APPROVED: "processed",
    UndoRequestState.DECLINED: "skipped",
}


def _keep_state(_filter: Any, rows: QuerySet[Any], value: str) -> QuerySet[Any]:
    if value == UndoRequestState.WAITING:
        return waiting(rows)
    return rows.filter(state=value) if value in UndoRequestState.values else rows


StateFilter = list_filter(
    "is",
    lazy("state"),
    [(state.value, state.label) for state in UndoRequestState],
    _keep_state,
    is_strict=False,
)


def _about(row: Any) -> SafeString | str:
    subject = str(row.process.subject)
    return badges.link(row.subject_url, subject) if row.subject_url else subject


def _worth(row: UndoRequest) -> str:
    if row.amount is None:
        return _("unknown")
    return number_format(row.amount, 2, force_grouping=True)


def _asked(row: Any) -> SafeString:
    return badges.beside(row.asked_by.removeprefix(PEOPLE), badges.age(row.asked_at, row.now))


def _decided(row: Any) -> SafeString:
    if row.decided_at is None:
        return badges.NOTHING
    return badges.beside(row.decided_by.removeprefix(PEOPLE), badges.instant(row.decided_at))


@admin.register(UndoRequest)
class UndoRequestAdmin(RowPageAdmin, ReadOnlyAdmin, LiveListAdmin):
    """Requests, the newest first; with rights of their own to see them and to decide."""

    change_form_template = "admin/workers/undo_request/page.html"
    list_display = ("number", "standing", "about", "worth", "asked", "why", "decided")
    list_display_links = ("number",)
    never_asked = ("reason", "comment", "given", "refusal")
    list_filter: ClassVar = (StateFilter,)
    list_select_related = ("process",)
    search_fields = ("asked_by", "decided_by")
    search_help_text = lazy("Who asked or decided")
    sortable_by = ()
    ordering = ("-id",)
    acts = (DECIDE,)

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).defer("process__input")

    def prepare(self, request: HttpRequest, rows: list[Any]) -> None:
        set_now(rows)
        masks = masking.of_processes(row.process_id for row in rows)
        urls = subjects.pages(row.process_id for row in rows)
        for row in rows:
            row.subject_url = urls.get(row.process_id, "")
            conceal(row, masks[row.process_id])

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return may_see(request)

    def row_context(self, request: HttpRequest, row: UndoRequest) -> dict[str, Any]:
        now = dialect.read_clock()
        mask = masking.of_processes([row.process_id])[row.process_id]
        if showing.is_shown(request, row.process):
            mask = masking.UNMASKED
        conceal(row, mask)
        why_over = over(row, now)
        return {
            "title": _("Request %(n)d: %(what)s") % {"n": row.pk, "what": what(row)},
            "asked": row,
            "what": what(row),
            "given": params_text(row, mask),
            "state": standing_mark(row, why_over),
            "subject_url": subject_url(request, row),
            "now": now,
            "server_now": now.isoformat(),
            "why_over": why_over,
            "form": DecisionForm(),
            "may_decide": may_decide(request, row) and not why_over,
            "is_own": is_own(request, row),
        }

    number = column(lazy("request"), lambda row: f"{row.pk} {what(row)}")
    standing = column(lazy("state"), lambda row: standing_mark(row, over(row, row.now)))
    about = column(lazy("about"), _about)
    worth = column(lazy("worth"), _worth)
    asked = column(lazy("asked"), _asked)
    why = column(lazy("why"), lambda row: badges.message(row.reason))
    decided = column(lazy("decided"), _decided)


def conceal(row: UndoRequest, mask: masking.Mask) -> None:
    """Mask a request in memory, and set in words why it came too late: never to be saved."""
    untyped: Any = row
    row.reason, row.comment = mask.text(row.reason), mask.text(row.comment)
    why = text_of(row.refusal["code"], row.refusal["params"]) if row.refusal else ""
    untyped.too_late = mask.text(why)


def what(row: UndoRequest) -> str:
    """Return what is asked for; a verb that this code does not have, by its name."""
    label = label_of(row)
    return f"{label}: {row.step}" if row.step else label


def params_text(row: UndoRequest, mask: masking.Mask) -> str:
    """Return the other parameters of the verb as JSON, masked; empty if it has none."""
    changes = row.given.get("changes")
    if isinstance(changes, dict):
        return pretty({path: mask.value_at(path, value) for path, value in changes.items()})
    return pretty(mask.record(row.given)) if row.given else ""


def standing_mark(row: UndoRequest, why_over: str) -> SafeString:
    """Return the state of a request; "over" if it waits but can no longer be approved."""
    if why_over:
        return badges.label(_("over"), "skipped", "skipped")
    look = LOOKS[UndoRequestState(row.state)]
    return badges.label(row.get_state_display(), look, look)


def subject_url(request: HttpRequest, row: UndoRequest) -> str:
    """Return the URL of the subject of a request; empty if there is none to see."""
    url = subjects.pages([row.process_id]).get(row.process_id, "")
    if not url and request.user.has_perm("workers.view_process"):
        url = reverse("admin:workers_process_change", args=[row.process_id])
    return url
