"""Replaying, discarding and restoring dead letters: one on its page, or many from the list."""

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

#: Dead letters in one go: each is a transaction of its own.
LIMIT = 500
#: Refusals that are told one by one.
TOLD = 10


class ReasonForm(forms.Form):
    """Which dead letters, and why."""

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
            "that is named, and stand for it."
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
            part.isdecimal() and part.isascii() and len(part) < 19 for part in ids
        ):
            raise forms.ValidationError(lazy("This is no list of dead letters."))
        return sorted({int(part) for part in ids})


def view_of_one(act: Act) -> Callable[..., HttpResponse]:
    """Return the view of an act on one dead letter: it asks, and on POST does it."""

    @require_http_methods(["GET", "HEAD", "POST"])
    def view(request: HttpRequest, pk: int) -> HttpResponse:
        _demand(request)
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
    """Return the view that acts on the dead letters that were shown, and no other."""

    @require_POST
    def view(request: HttpRequest) -> HttpResponse:
        _demand(request)
        form = ReasonForm(act, request.POST)
        if not form.is_valid():
            ids = form.cleaned_data.get("letters", [])
            found = list(DeadLetter.objects.defer("body").filter(pk__in=ids))
            return _page(request, act, form, found, status=400)
        wanted = form.cleaned_data["letters"]
        refusals = _carry_out(request, act, wanted, form)
        if refusals:
            text = ngettext("%(n)d was not: %(why)s", "%(n)d were not: %(why)s", len(refusals))
            why = " ".join(refusals[:TOLD]) + (" …" if len(refusals) > TOLD else "")
            messages.warning(request, text % {"n": len(refusals), "why": why})
        return back_to(request, "admin:orders_deadletter_changelist")

    return view


@require_safe
def view_of_group(request: HttpRequest, pk: int, name: str) -> HttpResponse:
    """Ask about all open ones that are like one: as many of them as go in one go, by age."""
    _demand(request)
    act = next((act for act in ACTS if act.name == name), None)
    if act is None or act.state != DeadLetter.State.OPEN:
        raise Http404
    found = list(letter_groups.like(pk).defer("body", "corrected").order_by("pk")[:LIMIT])
    if not found:
        messages.warning(request, _("None of that group is open any more."))
        return redirect("admin:orders_deadletter_groups")
    form = ReasonForm(act, initial={"letters": ",".join(str(one.pk) for one in found)})
    return _page(request, act, form, found, is_bulk=True)


def _action_of(act: Act) -> Callable[..., HttpResponse | None]:
    @admin.action(description=act.description, permissions=["resolve"])
    def action(
        model_admin: admin.ModelAdmin, request: HttpRequest, queryset: QuerySet[DeadLetter]
    ) -> HttpResponse | None:
        found = list(queryset.filter(state=act.state).order_by("pk")[:LIMIT])
        if not found:
            said = _("%(act)s: nothing of what was selected would change.")
            messages.warning(request, said % {"act": act.label})
            return None
        form = ReasonForm(act, initial={"letters": ",".join(str(one.pk) for one in found)})
        return _page(request, act, form, found, is_bulk=True)

    action.__name__ = f"{act.name}_selected"
    return action


ACTIONS = tuple(_action_of(act) for act in ACTS)


def _carry_out(request: HttpRequest, act: Act, ids: list[int], form: ReasonForm) -> list[str]:
    given = form.cleaned_data
    return carry_out(request, act, ids, given["reason"], unproven=given.get("unproven", False))


def _demand(request: HttpRequest) -> None:
    if not may(request):
        raise PermissionDenied


def _page(
    request: HttpRequest,
    act: Act,
    form: ReasonForm,
    found: list[DeadLetter],
    *,
    status: int = 200,
    refusals: list[str] | None = None,
    is_bulk: bool = False,
) -> HttpResponse:
    is_bulk = is_bulk or len(found) != 1
    query = request.GET.urlencode()
    one = None if is_bulk else found[0]
    name = f"admin:orders_deadletter_{act.name}"
    unproven = sum(not letter.is_proven for letter in found)
    if not unproven:
        form.fields.pop("unproven", None)
    context = {
        **admin.site.each_context(request),
        "title": f"{act.label}: {one}" if one else act.description,
        "act": act,
        "form": form,
        # Those to be asked about come first.
        "letters": sorted(map(_masked, found), key=lambda letter: letter.is_proven),
        "unproven": unproven,
        "refusals": refusals or [],
        "post_url": reverse(name, args=[one.pk]) if one else reverse(f"{name}_selected"),
        "query": f"?{query}" if query else "",
        "media": forms.Media(LiveMedia),
        "opts": DeadLetter._meta,
    }
    return TemplateResponse(
        request, "admin/orders/dead_letter/resolve.html", context, status=status
    )


def _masked(letter: DeadLetter) -> DeadLetter:
    """Mask what is wrong with a message in memory, which may quote it: never to be saved."""
    letter.reasons = UNKNOWN.value(letter.reasons)
    return letter
