"""The page of the hand-over sheet, and its mail to chosen persons."""

from typing import Any
from uuid import uuid4

from django import forms
from django.contrib import admin, messages
from django.contrib.auth import get_user_model
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy
from django.views.decorators.http import require_http_methods

from workers.desk.admin import hand_over
from workers.desk.admin.actions.page import actor
from workers.desk.admin.hand_over import LONGEST_HOURS, SHIFT_HOURS
from workers.desk.admin.lists import LiveMedia
from workers.desk.admin.piles import WaitingPile
from workers.desk.models.route import RouteKind
from workers.desk.notify import incident_sender as senders
from workers.desk.notify.incident_sender import EncodedMessage
from workers.models import Incident
from workers.notify.senders.delivery import Undelivered
from workers.store import acts

PERMISSION = "workers.hand_over_incident"


class HoursForm(forms.Form):
    hours = forms.IntegerField(
        label=lazy("Notes of the last hours"), min_value=1, max_value=LONGEST_HOURS
    )


class MailForm(forms.Form):
    """The recipients, and a comment."""

    to: Any = forms.ModelMultipleChoiceField(
        label=lazy("To"),
        queryset=None,
        widget=forms.CheckboxSelectMultiple,
        help_text=lazy("Users of the admin who have an address. Personal data is masked."),
    )
    comment = forms.CharField(
        label=lazy("Beside it"),
        required=False,
        max_length=2000,
        help_text=lazy("Stands above the sheet."),
        widget=forms.Textarea(attrs={"rows": 3}),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        users = get_user_model()._default_manager.filter(is_active=True, is_staff=True)
        to: Any = self.fields["to"]
        to.queryset = users.exclude(email="").order_by(get_user_model().USERNAME_FIELD)


@require_http_methods(["GET", "HEAD", "POST"])
def show(request: HttpRequest) -> HttpResponse:
    """Show the sheet; on POST mail it, masked as it is shown."""
    if not request.user.has_perm(PERMISSION):
        raise PermissionDenied
    hours_form = HoursForm(request.GET or {"hours": SHIFT_HOURS})
    hours = hours_form.cleaned_data["hours"] if hours_form.is_valid() else SHIFT_HOURS
    sheet = hand_over.read(hours)
    if request.method != "POST":
        return _page(request, sheet, hours_form, MailForm())
    form = MailForm(request.POST)
    if not form.is_valid():
        return _page(request, sheet, hours_form, form, status=400)
    try:
        _mail(form.cleaned_data, sheet)
    except Undelivered as problem:
        refusal = _("The mail did not leave: %(why)s.") % {"why": problem}
        return _page(request, sheet, hours_form, form, status=502, refusal=refusal)
    names = [user.get_username() for user in form.cleaned_data["to"]]
    detail = {"to": names, "reason": form.cleaned_data["comment"]}
    acts.record_act("handed_over", detail, actor=actor(request))
    messages.success(request, _("Mailed to %(names)s.") % {"names": ", ".join(names)})
    return redirect("admin:workers_incident_hand_over")


def _list_url(request: HttpRequest, pile: WaitingPile) -> str:
    """Return the URL of the list of a pile; empty if the user may not see it."""
    if not request.user.has_perm(pile.permission):
        return ""
    return f"{reverse(pile.page)}?{pile.query}".rstrip("?")


def _mail(data: dict[str, Any], sheet: hand_over.Sheet) -> None:
    text = hand_over.text(sheet)
    subject = text.partition("\n")[0]
    body = f"{data['comment']}\n\n{text}" if data["comment"] else text
    address = ",".join(user.email for user in data["to"])
    senders.send(EncodedMessage(RouteKind.MAIL, address, "", f"msg_{uuid4().hex}", subject, body))


def _page(
    request: HttpRequest,
    sheet: hand_over.Sheet,
    hours_form: HoursForm,
    form: MailForm,
    *,
    status: int = 200,
    refusal: str = "",
) -> HttpResponse:
    context = {
        **admin.site.each_context(request),
        "title": _("Hand-over"),
        "sheet": sheet,
        "piles": [(*pair, _list_url(request, pair[0])) for pair in sheet.piles],
        "asked": hours_form,
        "form": form,
        "refusal": refusal,
        "query": request.GET.urlencode(),
        "server_now": sheet.now.isoformat(),
        "media": forms.Media(LiveMedia),
        "opts": Incident._meta,
    }
    return TemplateResponse(
        request, "admin/workers/incident/hand_over.html", context, status=status
    )
