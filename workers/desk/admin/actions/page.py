"""The page of a verb: its preview, its form, and the POST that carries it out once."""

from collections.abc import Callable, Mapping
from typing import Any

from django.contrib import messages
from django.contrib.admin.models import CHANGE, LogEntry
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from workers.client import operations
from workers.desk.admin import showing
from workers.desk.admin.actions import places
from workers.desk.admin.actions.action import Target, Verb, VerbForm, message_about, read
from workers.desk.admin.actions.places import Place
from workers.desk.admin.lists import own_page
from workers.exceptions import StateError
from workers.models import Process
from workers.rules.approved_acts import Act
from workers.rules.two_persons import NEEDS_ANOTHER
from workers.states import PEOPLE


def actor(request: HttpRequest) -> str:
    """Return the name of the user of a request in the journal."""
    return f"{PEOPLE}{request.user.get_username()}"


def view_of(verb: Verb) -> Callable[..., HttpResponse]:
    """Return the view of a verb below a process's URL."""

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
    """Show the page; on POST carry the verb out, or say why not and show the current state.

    ``permission`` and ``place`` default to the verb's and the process's; an app may have its own.
    """
    target = _target(request, process_id, step)
    if not request.user.has_perms((permission,) if permission else verb.permissions_for(target)):
        raise PermissionDenied
    place = place or places.of(request, target.process)
    if request.method != "POST":
        return _page(request, verb, target, place)
    form = verb.form(target, request.POST)
    is_ready = form.is_valid() and form.is_confirmed
    # Report an outdated page before the errors of its form.
    why_not = form.outdated() or verb.refusal(target)
    if why_not or not is_ready:
        status = 409 if why_not else 400 if form.errors else 200
        return _page(request, verb, target, place, form, status=status, refusal=why_not)
    try:
        message = _act_or_ask(verb, target, actor(request), form.cleaned_data)
    except StateError as refusal:
        # Show the process, and its sequence, as they are now.
        target = _target(request, process_id, step)
        return _page(request, verb, target, place, form, status=409, refusal=str(refusal))
    write_log(request, target.process, message, form.cleaned_data.get("reason", ""))
    messages.success(request, message)
    return redirect(place.url)


def _act_or_ask(verb: Verb, target: Target, actor: str, data: Mapping[str, Any]) -> str:
    """Act, or ask for approval if that takes two persons; return the message to the operator."""
    try:
        return verb.perform(target, actor, dict(data)).message
    except StateError as refusal:
        if refusal.code not in NEEDS_ANOTHER:
            raise
    request = operations.ask_for_approval(
        target.process.pk,
        Act(verb.name, target.step.name if target.step else "", verb.params(target, actor, data)),
        actor=actor,
        reason=data["reason"],
        sequence=data["sequence"],
    )
    text = _("request %(n)d waits for a second person; nothing has changed.")
    return message_about(target, text % {"n": request})


def write_log(request: HttpRequest, row: Any, message: str, reason: str) -> None:
    """Enter an act in Django's admin log, in addition to the journal.

    Call it after the act, not in its transaction: the journal is the record of what happened.
    """
    assert request.user.pk is not None
    text = f"{message} {reason}".strip()
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
    at_step = target.at(step) if step else target
    if at_step is None:
        raise Http404
    return at_step


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
        "title": verb.title(target),
        "verb": verb,
        "target": target,
        "preview": preview,
        "why_not": why_not,
        "refusal": refusal,
        "form": form,
        "place": place,
        "server_now": target.now.isoformat(),
        **(verb.beside(target, form) if form is not None else {}),
    }
    return own_page(request, verb.template, Process, context, status)
