"""What operators do to an incident: each act with its form and its texts."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django import forms
from django.contrib.auth import get_user_model
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as lazy

from workers.desk.admin.actions.page import actor
from workers.desk.admin.actions.row_act import CommentForm, RowAct
from workers.desk.admin.notes import NoteForm
from workers.desk.admin.wording import Text
from workers.desk.models import Incident
from workers.desk.states import IncidentState
from workers.desk.store import incident_commands, notes
from workers.desk.texts import alert_texts
from workers.store.db import dialect


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
    """For how long; or until an instant, which takes precedence."""

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


@dataclass(frozen=True)
class Act(RowAct):
    """One act of an operator on an incident: its URL, texts, form, and function."""

    name: str
    permission: str
    label: Text
    sentence: Text
    #: Called with (incident, user id, actor, form data); False if somebody was quicker.
    do: Callable[[Incident, int, str, Mapping[str, Any]], bool]
    message: Text
    form: type[forms.Form] = CommentForm
    #: Whether it may be done to a resolved incident, too.
    is_for_resolved: bool = False
    is_grave: bool = False

    model = Incident
    leads_to_row = True
    back = lazy("Back to the incident")
    template = "admin/workers/incident/act.html"

    @property
    def button(self) -> Text:  # type: ignore[override]
        return self.label

    def may(self, request: HttpRequest, row: Incident | None = None) -> bool:
        return bool(request.user.has_perms((self.permission, "desk.view_incident")))

    def initial(self, request: HttpRequest, row: Incident) -> dict[str, Any]:
        return {"assignee": row.assignee_id}

    def perform(self, request: HttpRequest, row: Incident, data: dict[str, Any]) -> str:
        assert request.user.pk is not None
        is_done = self.do(row, int(request.user.pk), actor(request), data)
        return str(self.message) if is_done else ""

    def context(self, request: HttpRequest, row: Incident) -> dict[str, Any]:
        return {
            "incident": row,
            "incident_title": alert_texts.title(row.code, row.params),
        }


def _take(incident: Incident, user_id: int, name: str, data: Mapping[str, Any]) -> bool:
    return incident_commands.acknowledge(
        incident.pk, user_id, actor=name, comment=data.get("comment", "")
    )


def _assign(incident: Incident, user_id: int, name: str, data: Mapping[str, Any]) -> bool:
    assignee = data["assignee"]
    return incident_commands.assign(
        incident.pk, assignee.pk if assignee else None, actor=name, reason=data["comment"]
    )


def _snooze(incident: Incident, user_id: int, name: str, data: Mapping[str, Any]) -> bool:
    until = data["until"] or dialect.read_clock() + timedelta(minutes=data["minutes"])
    return incident_commands.snooze(incident.pk, until, actor=name, reason=data["comment"])


def _resolve(incident: Incident, user_id: int, name: str, data: Mapping[str, Any]) -> bool:
    return incident_commands.resolve(incident.pk, user_id, actor=name, reason=data["comment"])


def _note(incident: Incident, user_id: int, name: str, data: Mapping[str, Any]) -> bool:
    return notes.write_on_incident(incident.pk, user_id, data["text"], actor=name)


ACTS: tuple[Act, ...] = (
    Act(
        "take",
        "desk.acknowledge_incident",
        lazy("Take"),
        lazy("The incident is yours then, and its alerts are acknowledged."),
        _take,
        lazy("Taken: it is yours."),
    ),
    Act(
        "assign",
        "desk.assign_incident",
        lazy("Assign"),
        lazy("Sets whose the incident is, and nothing else."),
        _assign,
        lazy("Assigned."),
        AssignForm,
    ),
    Act(
        "snooze",
        "desk.snooze_incident",
        lazy("Snooze"),
        lazy("The incident is put off, and open again when the time is over. Its cause goes on."),
        _snooze,
        lazy("Put off."),
        SnoozeForm,
    ),
    Act(
        "resolve",
        "desk.resolve_incident",
        lazy("Resolve by hand"),
        lazy(
            "An incident resolves by itself once its cause has ended. Resolving it by hand"
            " acknowledges its alerts, whatever their cause does; it reopens as soon as one of"
            " them is raised again."
        ),
        _resolve,
        lazy("Resolved."),
        is_grave=True,
    ),
    Act(
        "note",
        "desk.note_incident",
        lazy("Write a note"),
        lazy("Kept with the incident and your name, for the next person."),
        _note,
        lazy("Noted."),
        NoteForm,
        is_for_resolved=True,
    ),
)


def offers(request: HttpRequest, incident: Incident) -> list[tuple[Act, str]]:
    """Return the acts that the user may do just now, each with its URL."""
    return [
        (act, act.address_of(incident.pk))
        for act in ACTS
        if act.may(request) and _is_possible(act, incident)
    ]


def _is_possible(act: Act, incident: Incident) -> bool:
    if incident.resolved_at is not None:
        return act.is_for_resolved
    return act.name != "take" or incident.state != IncidentState.ACKNOWLEDGED
