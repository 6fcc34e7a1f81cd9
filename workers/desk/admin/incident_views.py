"""What operators do to an incident: a page for each act, with what it means and a form."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.auth import get_user_model
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy
from django.views.decorators.http import require_http_methods

from workers.definitions.alert_kinds import alert_kind
from workers.desk.admin.actions.page import actor, write_log
from workers.desk.admin.lists import LiveMedia
from workers.desk.admin.notes import NoteForm
from workers.desk.admin.wording import Text
from workers.desk.store import incident_commands, notes
from workers.exceptions import StateError
from workers.models import Incident
from workers.states import IncidentState
from workers.store.db import dialect


class CommentForm(forms.Form):
    """What an operator says beside an act; kept in the journal."""

    comment = forms.CharField(
        label=lazy("Comment"),
        required=False,
        max_length=500,
        help_text=lazy("Optional. Kept in the journal with your name."),
        widget=forms.Textarea(attrs={"rows": 3}),
    )


class AssignForm(CommentForm):
    assignee: Any = forms.ModelChoiceField(
        label=lazy("Whose it is"), queryset=None, required=False, empty_label=lazy("Nobody's")
    )
    field_order = ("assignee", "comment")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        users = get_user_model()._default_manager.filter(is_active=True, is_staff=True)
        assignee: Any = self.fields["assignee"]
        assignee.queryset = users.order_by(get_user_model().USERNAME_FIELD)


class SnoozeForm(CommentForm):
    """For how long; or until an instant, which then counts."""

    minutes = forms.TypedChoiceField(
        label=lazy("For"),
        coerce=int,
        choices=[
            (15, lazy("15 minutes")),
            (60, lazy("1 hour")),
            (4 * 60, lazy("4 hours")),
            (8 * 60, lazy("8 hours")),
            (24 * 60, lazy("1 day")),
            (7 * 24 * 60, lazy("1 week")),
        ],
        initial=60,
    )
    until = forms.DateTimeField(
        label=lazy("Or until"),
        required=False,
        help_text=lazy("In the time zone that the page names; counts instead of the above."),
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M"),
    )
    field_order = ("minutes", "until", "comment")


@dataclass(frozen=True, slots=True)
class Act:
    """One thing an operator may do to an incident: its address, words, form, and the verb."""

    name: str
    permission: str
    label: Text
    sentence: Text
    form: type[forms.Form]
    #: Does it, as (incident, user id, actor, what the form gave); False: somebody was quicker.
    perform: Callable[[Incident, int, str, Mapping[str, Any]], bool]
    done: Text
    #: Whether it may be done to one that is resolved, too.
    is_for_resolved: bool = False
    is_grave: bool = False

    def may(self, request: HttpRequest) -> bool:
        return bool(request.user.has_perm(f"workers.{self.permission}"))


def _take(incident: Incident, user_id: int, who: str, given: Mapping[str, Any]) -> bool:
    return incident_commands.acknowledge(
        incident.pk, user_id, actor=who, comment=given.get("comment", "")
    )


def _assign(incident: Incident, user_id: int, who: str, given: Mapping[str, Any]) -> bool:
    assignee = given["assignee"]
    return incident_commands.assign(
        incident.pk, assignee.pk if assignee else None, actor=who, reason=given["comment"]
    )


def _snooze(incident: Incident, user_id: int, who: str, given: Mapping[str, Any]) -> bool:
    until = given["until"] or dialect.read_clock() + timedelta(minutes=given["minutes"])
    return incident_commands.snooze(incident.pk, until, actor=who, reason=given["comment"])


def _resolve(incident: Incident, user_id: int, who: str, given: Mapping[str, Any]) -> bool:
    return incident_commands.resolve(incident.pk, user_id, actor=who, reason=given["comment"])


def _note(incident: Incident, user_id: int, who: str, given: Mapping[str, Any]) -> bool:
    return notes.write_on_incident(incident.pk, user_id, given["text"], actor=who)


ACTS: tuple[Act, ...] = (
    Act(
        "take",
        "acknowledge_incident",
        lazy("Take"),
        lazy("The incident is yours then, and its alerts are acknowledged."),
        CommentForm,
        _take,
        lazy("Taken: it is yours."),
    ),
    Act(
        "assign",
        "assign_incident",
        lazy("Assign"),
        lazy("Says whose the incident is. It stays as it is otherwise."),
        AssignForm,
        _assign,
        lazy("Assigned."),
    ),
    Act(
        "snooze",
        "snooze_incident",
        lazy("Snooze"),
        lazy("The incident is put off, and open again when the time is over. Its cause goes on."),
        SnoozeForm,
        _snooze,
        lazy("Put off."),
    ),
    Act(
        "resolve",
        "resolve_incident",
        lazy("Resolve by hand"),
        lazy(
            "An incident is resolved by itself once its cause is gone. Resolved by hand, its"
            " alerts are acknowledged, whatever their cause does; it is open again as soon as one"
            " of them is raised again."
        ),
        CommentForm,
        _resolve,
        lazy("Resolved."),
        is_grave=True,
    ),
    Act(
        "note",
        "note_incident",
        lazy("Write a note"),
        lazy("Kept with the incident and your name, for whoever looks next."),
        NoteForm,
        _note,
        lazy("Noted."),
        is_for_resolved=True,
    ),
)


def view_of(act: Act) -> Callable[..., HttpResponse]:
    """Return the view of an act below an incident's address."""

    @require_http_methods(["GET", "HEAD", "POST"])
    def view(request: HttpRequest, pk: int) -> HttpResponse:
        return answer(request, act, pk)

    return view


def answer(request: HttpRequest, act: Act, pk: int) -> HttpResponse:
    """Show the page of an act; on POST carry it out, or say why not."""
    if not (act.may(request) and request.user.has_perm("workers.view_incident")):
        raise PermissionDenied
    incident = get_object_or_404(Incident, pk=pk)
    if request.method != "POST":
        return _page(request, act, incident, act.form(initial={"assignee": incident.assignee_id}))
    form = act.form(request.POST)
    if not form.is_valid():
        return _page(request, act, incident, form, status=400)
    assert request.user.pk is not None
    try:
        is_done = act.perform(incident, int(request.user.pk), actor(request), form.cleaned_data)
    except StateError as refusal:
        return _page(request, act, incident, form, status=409, refusal=str(refusal))
    if is_done:
        write_log(request, incident, str(act.done), form.cleaned_data.get("comment", ""))
        messages.success(request, str(act.done))
    else:
        messages.warning(request, _("Somebody was quicker; nothing was changed."))
    return redirect("admin:workers_incident_change", pk)


def offers(request: HttpRequest, incident: Incident) -> list[tuple[Act, str]]:
    """Return the acts that the user may do just now, each with its address."""
    return [
        (act, reverse(f"admin:workers_incident_{act.name}", args=[incident.pk]))
        for act in ACTS
        if act.may(request) and _is_possible(act, incident)
    ]


def _is_possible(act: Act, incident: Incident) -> bool:
    if incident.resolved_at is not None:
        return act.is_for_resolved
    return act.name != "take" or incident.state != IncidentState.ACKNOWLEDGED


def _page(
    request: HttpRequest,
    act: Act,
    incident: Incident,
    form: forms.Form,
    *,
    status: int = 200,
    refusal: str = "",
) -> HttpResponse:
    context = {
        **admin.site.each_context(request),
        "title": act.label,
        "act": act,
        "incident": incident,
        "incident_title": alert_kind(incident.code).title_with(incident.params),
        "form": form,
        "refusal": refusal,
        "media": forms.Media(LiveMedia),
        "opts": Incident._meta,
    }
    return TemplateResponse(request, "admin/workers/incident/act.html", context, status=status)
