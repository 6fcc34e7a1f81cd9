"""The page of one person: what is kept of them, to hand out or to erase."""

from typing import Any

from django import forms
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy
from django.views.decorators.http import require_http_methods

from workers.desk.admin import showing
from workers.desk.admin.actions.action import ReasonForm
from workers.desk.admin.actions.page import actor
from workers.desk.admin.lists import own_page
from workers.exceptions import StateError
from workers.models import Process
from workers.privacy import persons

PERMISSION = "workers.erase_person"


class PersonForm(ReasonForm):
    """The address and the reason; they are posted, so that no log of URLs has the address."""

    email = forms.EmailField(
        label=lazy("Mail address"),
        widget=forms.EmailInput(attrs={"size": 40}),
        help_text=lazy("This reads the inputs of all processes, which takes a while."),
    )
    field_order = ("email", "reason")

    def __init__(self, data: Any = None) -> None:
        super().__init__(data)
        posted = data or {}
        # Erase only what the page has shown: the same address.
        self.erases = "erase" in posted and posted.get("seen") == posted.get("email")
        reason = self.fields["reason"]
        reason.required = self.erases
        # A button that only looks must not be held up by it.
        reason.widget.is_required = False
        reason.help_text = lazy("Needed to erase. Kept in the journal: do not name the person.")


@require_http_methods(["GET", "HEAD", "POST"])
def show(request: HttpRequest) -> HttpResponse:
    """Ask for an address; on POST show what is kept, hand it out, or erase it."""
    if not request.user.has_perm(PERMISSION):
        raise PermissionDenied
    if request.method != "POST":
        return _page(request, PersonForm())
    form = PersonForm(request.POST)
    if not form.is_valid():
        return _page(request, form, status=400)
    email, reason = form.cleaned_data["email"], form.cleaned_data["reason"]
    if "export" in request.POST:
        return _export(request, email)
    try:
        outcome = persons.erase(email, actor=actor(request), reason=reason, dry_run=not form.erases)
    except StateError as refusal:
        return _page(request, form, status=409, refusal=str(refusal))
    return _page(request, form, outcome=outcome)


def _export(request: HttpRequest, email: str) -> HttpResponse:
    if not showing.may(request):
        raise PermissionDenied
    text = persons.export(email, actor=actor(request))
    headers = {"Content-Disposition": 'attachment; filename="person.json"'}
    return HttpResponse(text, content_type="application/json", headers=headers)


def _page(
    request: HttpRequest,
    form: PersonForm,
    *,
    status: int = 200,
    refusal: str = "",
    outcome: persons.Erasure | None = None,
) -> HttpResponse:
    context = {
        "title": _("Data of one person"),
        "form": form,
        "refusal": refusal,
        "outcome": outcome,
        "seen": form["email"].value() if form.erases or outcome else "",
        "may_export": showing.may(request),
    }
    return own_page(request, "admin/workers/person.html", Process, context, status)
