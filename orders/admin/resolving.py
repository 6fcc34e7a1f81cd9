"""Replay, discard and restore dead letters: what each needs, on one or on many of the list."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.models import CHANGE, LogEntry
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from orders import dead_letters, letter_groups
from orders.dead_letters import NotNow
from orders.models import DeadLetter
from orders.reasons import Refused
from workers.desk.admin.actions.available import Offer
from workers.desk.admin.actions.page import actor
from workers.desk.admin.actions.row_act import RowIdsField
from workers.desk.admin.lists import View, back_to, own_page
from workers.desk.admin.masking import UNKNOWN

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
        lazy("It is kept with the message, for the next person. Nothing else changes."),
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


#: Dead letters per request; each is acted on in a transaction of its own.
LIMIT = 500
#: Refusals quoted in the warning.
MOST_SHOWN = 10


class ReasonForm(forms.Form):
    """The dead letters to act on, and the reason."""

    letters = RowIdsField(LIMIT, lazy("This is no list of dead letters."))
    reason = forms.CharField(
        label=lazy("Reason"),
        max_length=500,
        help_text=lazy("Kept with the dead letter and your name."),
        widget=forms.Textarea(attrs={"rows": 3}),
    )

    unproven = forms.BooleanField(
        label=lazy("Replay those of unproven senders, too"),
        required=False,
        help_text=lazy(
            "Anyone with a broker login can write any name. You have asked each client that is"
            " named, and vouch for it."
        ),
    )

    def __init__(self, act: Act, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["reason"].required = act.needs_reason
        if not act.asks_proof:
            del self.fields["unproven"]


def view_of_one(act: Act) -> Callable[..., HttpResponse]:
    """Return the view of an action on one dead letter: GET asks for a reason, POST acts."""

    @require_http_methods(["GET", "HEAD", "POST"])
    def view(request: HttpRequest, pk: int) -> HttpResponse:
        _require_permission(request)
        letter = get_object_or_404(DeadLetter.objects.defer("body"), pk=pk)
        if request.method != "POST":
            return _page(request, act, ReasonForm(act, initial={"letters": pk}), [letter])
        form = ReasonForm(act, {**request.POST.dict(), "letters": str(pk)})
        if not form.is_valid():
            return _page(request, act, form, [letter], status=400)
        refusals = _carry_out(request, act, [pk], form)
        if refusals:
            letter.refresh_from_db(fields=["state"])
            return _page(request, act, form, [letter], status=409, refusals=refusals)
        return redirect("admin:orders_deadletter_change", pk)

    return view


def view_of_many(act: Act) -> Callable[..., HttpResponse]:
    """Return the view that acts on exactly the dead letters that its form lists."""

    @require_POST
    def view(request: HttpRequest) -> HttpResponse:
        _require_permission(request)
        form = ReasonForm(act, request.POST)
        if not form.is_valid():
            ids = form.cleaned_data.get("letters", [])
            letters = list(DeadLetter.objects.defer("body").filter(pk__in=ids))
            return _page(request, act, form, letters, status=400)
        refusals = _carry_out(request, act, form.cleaned_data["letters"], form)
        if refusals:
            text = ngettext("%(n)d was not: %(why)s", "%(n)d were not: %(why)s", len(refusals))
            why = " ".join(refusals[:MOST_SHOWN]) + (" …" if len(refusals) > MOST_SHOWN else "")
            messages.warning(request, text % {"n": len(refusals), "why": why})
        return back_to(request, "admin:orders_deadletter_changelist")

    return view


def views() -> list[View]:
    """Return the views of each action: on one dead letter, and on those that its form lists."""
    one = [(act.name, f"<int:pk>/{act.name}/", view_of_one(act)) for act in ACTS]
    many = [(f"{act.name}_selected", f"{act.name}/", view_of_many(act)) for act in ACTS]
    return [*one, *many]


@require_safe
def view_of_group(request: HttpRequest, pk: int, name: str) -> HttpResponse:
    """Ask for a reason for the open dead letters of a group: the oldest ones, up to ``LIMIT``."""
    _require_permission(request)
    act = next((act for act in ACTS if act.name == name), None)
    if act is None or act.state != DeadLetter.State.OPEN:
        raise Http404
    letters = list(letter_groups.like(pk).defer("body", "corrected").order_by("pk")[:LIMIT])
    if not letters:
        messages.warning(request, _("None of that group is open any more."))
        return redirect("admin:orders_deadletter_groups")
    form = ReasonForm(act, initial={"letters": ",".join(str(row.pk) for row in letters)})
    return _page(request, act, form, letters, is_bulk=True)


def _action_of(act: Act) -> Callable[..., HttpResponse | None]:
    @admin.action(description=act.description, permissions=["resolve"])
    def action(
        model_admin: admin.ModelAdmin, request: HttpRequest, queryset: QuerySet[DeadLetter]
    ) -> HttpResponse | None:
        letters = list(queryset.filter(state=act.state).order_by("pk")[:LIMIT])
        if not letters:
            text = _("%(act)s: nothing of what was selected would change.")
            messages.warning(request, text % {"act": act.label})
            return None
        form = ReasonForm(act, initial={"letters": ",".join(str(row.pk) for row in letters)})
        return _page(request, act, form, letters, is_bulk=True)

    action.__name__ = f"{act.name}_selected"
    return action


ACTIONS = tuple(_action_of(act) for act in ACTS)


def _carry_out(request: HttpRequest, act: Act, ids: list[int], form: ReasonForm) -> list[str]:
    data = form.cleaned_data
    return carry_out(request, act, ids, data["reason"], unproven=data.get("unproven", False))


def _require_permission(request: HttpRequest) -> None:
    if not may(request):
        raise PermissionDenied


def _page(
    request: HttpRequest,
    act: Act,
    form: ReasonForm,
    letters: list[DeadLetter],
    *,
    status: int = 200,
    refusals: list[str] | None = None,
    is_bulk: bool = False,
) -> HttpResponse:
    is_bulk = is_bulk or len(letters) != 1
    query = request.GET.urlencode()
    letter = None if is_bulk else letters[0]
    name = f"admin:orders_deadletter_{act.name}"
    unproven = sum(not row.is_proven for row in letters)
    if not unproven:
        form.fields.pop("unproven", None)
    context = {
        "title": f"{act.label}: {letter}" if letter else act.description,
        "act": act,
        "form": form,
        # Unproven senders first: the operator must ask them.
        "letters": sorted(map(_masked, letters), key=lambda row: row.is_proven),
        "unproven": unproven,
        "refusals": refusals or [],
        "post_url": reverse(name, args=[letter.pk]) if letter else reverse(f"{name}_selected"),
        "query": f"?{query}" if query else "",
    }
    return own_page(request, "admin/orders/dead_letter/resolve.html", DeadLetter, context, status)


def _masked(letter: DeadLetter) -> DeadLetter:
    """Mask the reasons, which may quote the message, in memory only: do not save the row."""
    letter.reasons = UNKNOWN.value(letter.reasons)
    return letter
