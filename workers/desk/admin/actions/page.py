"""The page of a verb: what will happen, the form, and the POST that does it once."""

from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.models import CHANGE, LogEntry
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.views.decorators.http import require_http_methods

from workers.desk.admin import showing
from workers.desk.admin.actions import places
from workers.desk.admin.actions.action import Target, Verb, VerbForm, read
from workers.desk.admin.actions.places import Place
from workers.desk.admin.lists import LiveMedia
from workers.exceptions import StateError
from workers.models import Process
from workers.states import PEOPLE


def actor(request: HttpRequest) -> str:
    """Return how the journal calls the user of a request."""
    return f"{PEOPLE}{request.user.get_username()}"


def view_of(verb: Verb) -> Callable[..., HttpResponse]:
    """Return the view of a verb below a process's address."""

    @require_http_methods(["GET", "HEAD", "POST"])
    def view(request: HttpRequest, pk: int, step: str = "") -> HttpResponse:
        return answer(request, verb, pk, step)

    return view


def answer(
    request: HttpRequest,
    verb: Verb,
    process_id: int,
    step: str = "",
    *,
    permission: str = "",
    place: Place | None = None,
) -> HttpResponse:
    """Show the page; on POST carry the verb out, or say why not and show things as they are now.

    ``permission`` and ``place`` are the verb's and the process's unless an app has its own.
    """
    target = _target(request, process_id, step)
    if not request.user.has_perms((permission,) if permission else verb.permissions_for(target)):
        raise PermissionDenied
    place = place or places.of(request, target.process)
    if request.method != "POST":
        return _page(request, verb, target, place)
    form = verb.form(target, request.POST)
    if not form.is_valid() or not form.is_confirmed:
        # Whoever sees an old page is told that first, before what to correct on it.
        refused = form.moved() or verb.refusal(target)
        status = 409 if refused else 400 if form.errors else 200
        return _page(request, verb, target, place, form, status=status, refusal=refused)
    try:
        said = verb.perform(target, actor(request), dict(form.cleaned_data))
    except StateError as refusal:
        # The page shows the process as it is now: that is what is seen then.
        target = _target(request, process_id, step)
        return _page(request, verb, target, place, form, status=409, refusal=str(refusal))
    write_log(request, target.process, said, form.cleaned_data.get("reason", ""))
    messages.success(request, said)
    return redirect(place.url)


def write_log(request: HttpRequest, row: Any, said: str, reason: str) -> None:
    """Enter an act in the admin's own log, beside the journal's row.

    After the act and not with it: the journal is the record, and what it tells has happened.
    """
    assert request.user.pk is not None
    text = f"{said} {reason}".strip()
    LogEntry.objects.log_actions(
        user_id=request.user.pk,
        queryset=[row],
        action_flag=CHANGE,
        change_message=text,
        single_object=True,
    )


def _target(request: HttpRequest, process_id: int, step: str) -> Target:
    try:
        target = read(process_id, lambda process: showing.is_shown(request, process))
    except Process.DoesNotExist:
        raise Http404 from None
    found = target.at(step) if step else target
    if found is None:
        raise Http404
    return found


def _page(
    request: HttpRequest,
    verb: Verb,
    target: Target,
    place: Place,
    form: VerbForm | None = None,
    *,
    status: int = 200,
    refusal: str = "",
) -> HttpResponse:
    why_not = verb.refusal(target)
    preview = None if why_not else verb.preview(target)
    if why_not:
        form = None
    elif form is None or refusal:
        reason = form.cleaned_data.get("reason", "") if form is not None else ""
        form = verb.form(target)
        form.initial["reason"] = reason
    context = {
        **admin.site.each_context(request),
        "title": verb.title(target),
        "verb": verb,
        "target": target,
        "preview": preview,
        "why_not": why_not,
        "refusal": refusal,
        "form": form,
        "place": place,
        "server_now": target.now.isoformat(),
        "media": forms.Media(LiveMedia),
        **(verb.beside(target, form) if form is not None else {}),
    }
    return TemplateResponse(request, verb.template, context, status=status)
