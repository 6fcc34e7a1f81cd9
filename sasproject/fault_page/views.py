"""The fault page and its actions, available only in a demonstration."""

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import httpx2
from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy
from django.views.decorators.http import require_POST, require_safe

from sasproject.demo import faults
from sasproject.fault_page import choices, scene
from sasproject.stack import processes
from workers import record_act
from workers.desk.admin import lists
from workers.desk.admin.actions.page import actor
from workers.desk.admin.lists import LiveMedia
from workers.desk.admin.wording import register_events

#: Users who may open an agent's breaker may break the service behind it.
PERMISSION = "workers.operate_flow"

register_events(
    {
        "demo_fault_set": lazy("A service of the demonstration was told what to do wrong"),
        "demo_role_killed": lazy("A process of the demonstration was killed"),
    }
)

EVERY_SERVICE = lazy("every service")

View = Callable[[HttpRequest], HttpResponse]


class FaultForm(forms.Form):
    service = forms.ChoiceField(
        label=lazy("Service"),
        choices=[
            *((service, service) for service in choices.SERVICES),
            (choices.EVERY_SERVICE, EVERY_SERVICE),
        ],
    )
    fault = forms.ChoiceField(
        label=lazy("From now on it"),
        choices=[(name, choice.label) for name, choice in choices.CHOICES.items()],
        initial="down",
    )


class KillForm(forms.Form):
    role = forms.ChoiceField(
        label=lazy("Role"), choices=lambda: [(role, role) for role in scene.killable()]
    )


def in_demonstration(view: View) -> View:
    """Restrict a view to staff of a demonstration; elsewhere it is 404 for everyone."""
    guarded = admin.site.admin_view(view)

    @wraps(view)
    def answer(request: HttpRequest) -> HttpResponse:
        # Before the admin checks the user: a login page would reveal that the page exists.
        if not settings.FAULT_PAGE:
            raise Http404
        # Links to the admin lead to the site's pages, not to this namespace.
        request.current_app = admin.site.name
        return guarded(request)

    return answer


@in_demonstration
@require_safe
def show(request: HttpRequest) -> HttpResponse:
    """Show the page; a poll gets its live part, or 204 if nothing has changed."""
    return _page(request)


@in_demonstration
@require_POST
def switch(request: HttpRequest) -> HttpResponse:
    """Replace the faults of a service, or of every one."""
    _check(request)
    form = FaultForm(request.POST)
    if not form.is_valid():
        return _page(request, fault_form=form, status=400)
    chosen, fault = form.cleaned_data["service"], form.cleaned_data["fault"]
    services = choices.SERVICES if chosen == choices.EVERY_SERVICE else (chosen,)
    for service in services:
        try:
            faults.switch(
                settings.SANDBOX_URL,
                service,
                choices.faults_of(fault, service),
                seconds=scene.SECONDS,
            )
        except httpx2.HTTPError as error:
            refusal = _("%(service)s did not take it: %(why)s. Is the sandbox up?") % {
                "service": service,
                "why": str(error).rstrip(".") or type(error).__name__,
            }
            return _page(request, fault_form=form, refusal=refusal, status=502)
        record_act("demo_fault_set", {"service": service, "fault": fault}, actor=actor(request))
    label = EVERY_SERVICE if chosen == choices.EVERY_SERVICE else chosen
    params = {"service": label, "fault": choices.CHOICES[fault].label}
    messages.success(request, _("%(service)s %(fault)s.") % params)
    return redirect("faults:page")


@in_demonstration
@require_POST
def kill(request: HttpRequest) -> HttpResponse:
    """Kill the main process of a role, by the process id that the stack has recorded."""
    _check(request)
    form = KillForm(request.POST)
    if not form.is_valid():
        return _page(request, kill_form=form, status=400)
    role = form.cleaned_data["role"]
    pid = next(iter(scene.roles().get(role, [])), None)
    if pid is None or not processes.kill_marked(pid, Path(settings.RUN_DIR)):
        refusal = _(
            "%(role)s is down already, or its process is not known to be one of this stack. "
            "Look again."
        ) % {"role": role}
        return _page(request, kill_form=form, refusal=refusal, status=409)
    record_act("demo_role_killed", {"role": role, "pid": pid}, actor=actor(request))
    messages.success(
        request,
        _("Killed: %(role)s, process %(pid)d. The stack starts it again.")
        % {"role": role, "pid": pid},
    )
    return redirect("faults:page")


def _check(request: HttpRequest) -> None:
    if not request.user.has_perm(PERMISSION):
        raise PermissionDenied


def _page(
    request: HttpRequest,
    *,
    fault_form: FaultForm | None = None,
    kill_form: KillForm | None = None,
    refusal: str = "",
    status: int = 200,
) -> HttpResponse:
    picture = scene.read(sees_incidents=request.user.has_perm("desk.view_incident"))
    marker = picture.marker
    if lists.is_seen(request, marker):
        return lists.unchanged(marker)
    context: dict[str, Any] = {"scene": picture}
    if lists.is_poll(request):
        response = TemplateResponse(request, "sasproject/faults_live.html", context)
        lists.stamp(response, marker)
        return response
    context |= {
        **admin.site.each_context(request),
        "title": _("Break something"),
        "may_break": request.user.has_perm(PERMISSION),
        "fault_form": fault_form or FaultForm(),
        "kill_form": kill_form or KillForm(),
        "killable": scene.killable(),
        "refusal": refusal,
        "server_now": marker.at.isoformat(),
        "seen": marker.text,
        "media": forms.Media(LiveMedia),
    }
    return TemplateResponse(request, "sasproject/faults.html", context, status=status)
