"""Holding agents, steps or everything, and lifting holds again."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy
from django.views.decorators.http import require_http_methods

from workers.client import operations
from workers.definitions import registry
from workers.desk.admin import badges
from workers.desk.admin.actions.action import ReasonForm
from workers.desk.admin.actions.page import actor, write_log
from workers.desk.admin.lists import LiveMedia
from workers.exceptions import StateError
from workers.models import Flow, Hold

PERMISSION = "workers.operate_hold"


class HoldForm(ReasonForm):
    """What to hold: one list of all that can be, so that no name is mistyped."""

    what = forms.ChoiceField(label=lazy("Hold"))

    field_order = ("what", "reason")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field: Any = self.fields["what"]
        field.choices = choices()

    def clean_what(self) -> tuple[str, str]:
        kind, _colon, name = self.cleaned_data["what"].partition(":")
        return kind, name


def may(request: HttpRequest) -> bool:
    return bool(request.user.has_perm(PERMISSION))


def choices() -> list[tuple[str, Any]]:
    """Return everything that can be held: agents that have a flow row, steps that code names."""
    agents = Flow.objects.order_by("agent").values_list("agent", flat=True)
    steps = {spec.name for workflow in registry.workflows() for spec in workflow.steps}
    return [
        ("everything", _("Everything")),
        (_("Agents"), [(f"agent:{name}", name) for name in agents]),
        (_("Steps called"), [(f"step:{name}", name) for name in sorted(steps)]),
    ]


@require_http_methods(["GET", "HEAD", "POST"])
def hold(request: HttpRequest) -> HttpResponse:
    """Show the page; on POST hold what was chosen."""
    if not may(request):
        raise PermissionDenied
    sentence = _(
        "Nothing of it is begun until the hold is lifted. What is in flight goes on to its end, "
        "and submissions are accepted all the same."
    )
    title, button = _("Hold"), _("Hold it")
    if request.method != "POST":
        # A link may say what; what cannot be held is not among the choices.
        form = HoldForm(initial={"what": request.GET.get("what")})
        return _page(request, form, title, sentence, button)
    form = HoldForm(request.POST)
    if not form.is_valid():
        return _page(request, form, title, sentence, button, status=400)
    kind, name = form.cleaned_data["what"]
    reason = form.cleaned_data["reason"]
    try:
        operations.hold(kind, name, actor=actor(request), reason=reason)
    except StateError as refusal:
        return _page(request, form, title, sentence, button, status=409, refusal=str(refusal))
    landed = Hold.objects.filter(kind=kind, name=name, ended_at=None).first()
    return _done(request, landed, _("Held: %(what)s.") % {"what": badges.hold(kind, name)}, reason)


@require_http_methods(["GET", "HEAD", "POST"])
def lift(request: HttpRequest, pk: int) -> HttpResponse:
    """Show the page; on POST lift the hold."""
    if not may(request):
        raise PermissionDenied
    held = get_object_or_404(Hold, pk=pk)
    what = badges.hold(held.kind, held.name)
    sentence = _("What was held back goes on by itself: %(what)s.") % {"what": what}
    title, button = _("Lift the hold: %(what)s") % {"what": what}, _("Lift it")
    if held.ended_at is not None:
        why = _("This hold was lifted already, by %(who)s.") % {"who": held.ended_by}
        status = 409 if request.method == "POST" else 200
        return _page(request, None, title, "", button, status=status, refusal=why)
    if request.method != "POST":
        return _page(request, ReasonForm(), title, sentence, button)
    form = ReasonForm(request.POST)
    if not form.is_valid():
        return _page(request, form, title, sentence, button, status=400)
    reason = form.cleaned_data["reason"]
    try:
        operations.lift(held.kind, held.name, actor=actor(request), reason=reason)
    except StateError as refusal:
        return _page(request, None, title, "", button, status=409, refusal=str(refusal))
    return _done(request, held, _("Lifted: %(what)s.") % {"what": what}, reason)


def _done(request: HttpRequest, row: Hold | None, said: str, reason: str) -> HttpResponse:
    if row is not None:
        write_log(request, row, said, reason)
    messages.success(request, said)
    return redirect("admin:workers_hold_changelist")


def _page(
    request: HttpRequest,
    form: ReasonForm | None,
    title: str,
    sentence: str,
    button: str,
    *,
    status: int = 200,
    refusal: str = "",
) -> HttpResponse:
    context = {
        **admin.site.each_context(request),
        "title": title,
        "form": form,
        "sentence": sentence,
        "button": button,
        "refusal": refusal,
        "media": forms.Media(LiveMedia),
        "opts": Hold._meta,
    }
    return TemplateResponse(request, "admin/workers/hold.html", context, status=status)
