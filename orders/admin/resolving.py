"""Replay, discard and restore dead letters: one on its page, or many from the list."""

from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from orders import letter_groups
from orders.admin.acts import ACTS, Act, carry_out, may
from orders.models import DeadLetter
from workers.desk.admin.lists import LiveMedia, back_to
from workers.desk.admin.masking import UNKNOWN

#: Dead letters per request; each is acted on in a transaction of its own.
LIMIT = 500
#: Refusals quoted in the warning.
MOST_SHOWN = 10


class ReasonForm(forms.Form):
    """The dead letters to act on, and the reason."""

    letters = forms.CharField(widget=forms.HiddenInput, max_length=LIMIT * 20)
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
            "Anybody who may log in to the broker may write any name. You have asked each client "
            "that is named, and vouch for it."
        ),
    )

    def __init__(self, act: Act, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["reason"].required = act.needs_reason
        if not act.asks_proof:
            del self.fields["unproven"]

    def clean_letters(self) -> list[int]:
        ids = self.cleaned_data["letters"].split(",")
        if len(ids) > LIMIT or not all(
            pk.isdecimal() and pk.isascii() and len(pk) < 19 for pk in ids
        ):
            raise forms.ValidationError(lazy("This is no list of dead letters."))
        return sorted({int(pk) for pk in ids})


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
        **admin.site.each_context(request),
        "title": f"{act.label}: {letter}" if letter else act.description,
        "act": act,
        "form": form,
        # Unproven senders first: the operator must ask them.
        "letters": sorted(map(_masked, letters), key=lambda row: row.is_proven),
        "unproven": unproven,
        "refusals": refusals or [],
        "post_url": reverse(name, args=[letter.pk]) if letter else reverse(f"{name}_selected"),
        "query": f"?{query}" if query else "",
        "media": forms.Media(LiveMedia),
        "opts": DeadLetter._meta,
    }
    return TemplateResponse(
        request, "admin/orders/dead_letter/resolve.html", context, status=status
    )


def _masked(letter: DeadLetter) -> DeadLetter:
    """Mask the reasons, which may quote the message, in memory only: do not save the row."""
    letter.reasons = UNKNOWN.value(letter.reasons)
    return letter
