"""Holds: what operators have stopped, since when and why; holding and lifting."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import F
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from workers.admin import ReadOnlyAdmin
from workers.client import operations
from workers.definitions import registry
from workers.desk.admin import badges, masking
from workers.desk.admin.actions.action import ReasonForm
from workers.desk.admin.actions.page import actor
from workers.desk.admin.actions.row_act import RowAct
from workers.desk.admin.lists import LiveListAdmin, column
from workers.models import Flow, Hold

PERMISSION = "workers.operate_hold"


class HoldForm(ReasonForm):
    """What to hold, from one list of all choices, so that no name is mistyped."""

    what = forms.ChoiceField(label=lazy("Hold"))

    field_order = ("what", "reason")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field: Any = self.fields["what"]
        field.choices = choices()

    def clean_what(self) -> tuple[str, str]:
        kind, _colon, name = self.cleaned_data["what"].partition(":")
        return kind, name


def choices() -> list[tuple[str, Any]]:
    """Return everything that can be held: agents with a flow row, and steps of the code."""
    agents = Flow.objects.order_by("agent").values_list("agent", flat=True)
    steps = {spec.name for workflow in registry.workflows() for spec in workflow.steps}
    return [
        ("everything", _("Everything")),
        (_("Agents"), [(f"agent:{name}", name) for name in agents]),
        (_("Steps called"), [(f"step:{name}", name) for name in sorted(steps)]),
    ]


class _OnHolds(RowAct):
    """An act on holds that leads back to their list."""

    model = Hold
    permission = PERMISSION
    label = lazy("Hold")
    back = lazy("Back to the holds")
    template = "admin/workers/hold.html"


class HoldAct(_OnHolds):
    """Hold what is chosen on its page."""

    name, address = "hold", "hold/"
    button = lazy("Hold it")
    sentence = lazy(
        "Nothing of it starts until the hold is lifted. Calls in flight run to their end, and"
        " submissions are still accepted."
    )
    form = HoldForm

    def find(self, request: HttpRequest, **address: Any) -> None:
        return None

    def initial(self, request: HttpRequest, row: None) -> dict[str, Any]:
        # A link may preselect a choice; anything else cannot be held.
        return {"what": request.GET["what"]} if "what" in request.GET else {}

    def perform(self, request: HttpRequest, row: None, data: dict[str, Any]) -> str:
        kind, name = data["what"]
        operations.hold(kind, name, actor=actor(request), reason=data["reason"])
        return _("Held: %(what)s.") % {"what": badges.hold(kind, name)}

    def done(
        self, request: HttpRequest, row: None, result: str, data: dict[str, Any]
    ) -> HttpResponse:
        kind, name = data["what"]
        if hold := Hold.objects.filter(kind=kind, name=name, ended_at=None).first():
            return super().done(request, hold, result, data)
        # It was lifted meanwhile.
        messages.success(request, result)
        return redirect(self.url(request, row))


class LiftAct(_OnHolds):
    """Lift a hold."""

    name = "lift"
    button = lazy("Lift it")
    sentence = lazy("What was held back goes on by itself.")
    form = ReasonForm

    def why_not(self, row: Hold) -> str:
        if row.ended_at is None:
            return ""
        return _("This hold was lifted already, by %(who)s.") % {"who": row.ended_by}

    def perform(self, request: HttpRequest, row: Hold, data: dict[str, Any]) -> str:
        operations.lift(row.kind, row.name, actor=actor(request), reason=data["reason"])
        return _("Lifted: %(what)s.") % {"what": badges.hold(row.kind, row.name)}

    def title(self, row: Hold) -> str:
        return _("Lift the hold: %(what)s") % {"what": badges.hold(row.kind, row.name)}


HOLD, LIFT = HoldAct(), LiftAct()


def _standing(row: Hold) -> SafeString:
    if row.ended_at is None:
        return badges.label(_("in force"), "pending", "skipped")
    return badges.label(_("lifted"), "processed", "processed")


def _ended(row: Hold) -> SafeString:
    if row.ended_at is None:
        return badges.NOTHING
    return badges.beside(badges.instant(row.ended_at), row.ended_by)


def _what(row: Hold) -> str:
    return badges.hold(row.kind, row.name)


def _lift(row: Any) -> SafeString:
    if not row.may_lift:
        return badges.NOTHING
    return badges.page_button(LIFT.address_of(row.pk), _("Lift…"), _what(row))


@admin.register(Hold)
class HoldAdmin(ReadOnlyAdmin, LiveListAdmin):
    """Holds, those in force first."""

    change_list_template = "admin/workers/hold_list.html"
    list_display = ("what", "standing", "reason", "began", "ended", "lift")
    list_display_links = None
    never_asked = ("reason",)
    # Not by reason: the order would tell what is masked.
    sortable_by = ("standing", "began", "ended")
    ordering = (F("ended_at").desc(nulls_first=True), "-began_at")
    acts = (HOLD, LIFT)

    def prepare(self, request: HttpRequest, rows: list[Any]) -> None:
        masking.conceal_words(rows, "reason")
        for row in rows:
            row.may_lift = row.ended_at is None and LIFT.may(request)

    def get_object(
        self, request: HttpRequest, object_id: str, from_field: str | None = None
    ) -> Any:
        row = super().get_object(request, object_id, from_field)
        # Read-only, and shown by Django's own page.
        return row and masking.conceal_words([row], "reason")[0]

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        context = {"may_hold": HOLD.may(request), **(extra_context or {})}
        return super().changelist_view(request, context)

    what = column(lazy("held"), _what)
    standing = column(lazy("state"), _standing, F("ended_at").desc(nulls_first=True))
    began = column(
        lazy("began"),
        lambda row: badges.beside(badges.instant(row.began_at), row.began_by),
        "began_at",
    )
    ended = column(lazy("lifted"), _ended, "ended_at")
    lift = column(lazy("lift"), _lift)
