"""Schedules: what begins by the clock, when it does next, and what operators do about it."""

from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy
from django.utils.translation import ngettext

from workers.admin import ReadOnlyAdmin
from workers.client import schedules
from workers.definitions import registry
from workers.desk.admin import badges
from workers.desk.admin.actions.action import ReasonForm
from workers.desk.admin.actions.page import actor
from workers.desk.admin.actions.row_act import RowAct
from workers.desk.admin.lists import LiveListAdmin, column, set_now
from workers.desk.admin.row_page import RowPageAdmin
from workers.desk.admin.wording import register_events
from workers.exceptions import SASError, StateError, UnknownWorkflow
from workers.models import Schedule
from workers.rules.masks import UNKNOWN, Mask

PERMISSION = "workers.operate_schedule"


class _OnSchedule(RowAct):
    """An act on a schedule, which leads back to its page."""

    model = Schedule
    permission = PERMISSION
    back = lazy("Back to the schedule")
    form = ReasonForm
    leads_to_row = True

    def title(self, row: Schedule) -> str:
        return f"{self.label}: {row.name}"

    def perform(self, request: HttpRequest, row: Schedule, data: dict[str, Any]) -> str:
        try:
            return self.act(row, data, actor=actor(request), reason=data["reason"])
        except StateError:
            raise
        except (SASError, ValueError, TypeError) as error:
            # Its code cannot make the process: nothing has begun.
            raise StateError(str(error)) from error

    def act(self, row: Schedule, data: dict[str, Any], **by: Any) -> str:
        """Carry it out; return what to report."""
        raise NotImplementedError


class _Pause(_OnSchedule):
    name, label, button = "pause", lazy("Pause"), lazy("Pause it")
    sentence = lazy("Nothing begins until it is resumed. Processes that run go on.")

    def why_not(self, row: Schedule) -> str:
        return _("It is paused already.") if row.paused_at else ""

    def act(self, row: Schedule, data: dict[str, Any], **by: Any) -> str:
        schedules.pause(row.name, **by)
        return _("%(name)s is paused.") % {"name": row.name}


class _Resume(_OnSchedule):
    name, label, button = "resume", lazy("Resume"), lazy("Resume it")
    sentence = lazy("The next instant fires. Those of the pause do not: backfill them if wanted.")

    def why_not(self, row: Schedule) -> str:
        return "" if row.paused_at else _("It is not paused.")

    def act(self, row: Schedule, data: dict[str, Any], **by: Any) -> str:
        schedules.resume(row.name, **by)
        return _("%(name)s is resumed.") % {"name": row.name}


class _Run(_OnSchedule):
    name, label, button = "run", lazy("Run now"), lazy("Run it now")
    sentence = lazy("A process begins now, beside the instants.")

    def act(self, row: Schedule, data: dict[str, Any], **by: Any) -> str:
        process = schedules.run(row.name, **by)
        return _("%(name)s began process %(process)d.") % {"name": row.name, "process": process.pk}


class _Skip(_OnSchedule):
    name, label, button = "skip", lazy("Skip once"), lazy("Leave the next instant out")
    sentence = lazy("The next instant does not fire; those after it do.")

    def why_not(self, row: Schedule) -> str:
        return _("The next instant is left out already.") if row.skip_at == row.next_at else ""

    def act(self, row: Schedule, data: dict[str, Any], **by: Any) -> str:
        at = badges.instant(schedules.skip(row.name, **by))
        return format_html(_("{} leaves out {}."), row.name, at)


class BackfillForm(ReasonForm):
    """A window, and once it is valid, how much would begin."""

    since = forms.DateTimeField(
        label=lazy("From"), widget=forms.DateTimeInput(attrs={"type": "datetime-local"})
    )
    until = forms.DateTimeField(
        label=lazy("To"),
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}),
        help_text=lazy("In the time zone of this page. It lies in the past."),
    )
    confirmed = forms.BooleanField(
        label=lazy("Begin them"),
        required=False,
        help_text=lazy("Without it, nothing begins and the page says how many would."),
    )

    field_order = ("since", "until", "reason", "confirmed")


class _Backfill(_OnSchedule):
    name, label, button = "backfill", lazy("Backfill"), lazy("Preview, or begin")
    sentence = lazy(
        "Processes begin for the instants of a window in the past, some with each poll. An instant"
        " that has fired begins none."
    )
    form = BackfillForm

    def why_not(self, row: Schedule) -> str:
        return _("A backfill is under way. Wait for its end.") if row.backfill_at else ""

    def is_ready(self, form: Any) -> bool:
        return bool(form.is_valid() and form.cleaned_data["confirmed"])

    def beside(self, row: Schedule, form: Any) -> dict[str, Any]:
        if not (form.is_bound and form.is_valid()):
            return {}
        try:
            data = form.cleaned_data
            instants = schedules.window(row, data["since"], data["until"])
        except SASError as refusal:
            return {"preview": str(refusal)}
        text = ngettext(
            "%(n)d process would begin at most.",
            "%(n)d processes would begin at most.",
            len(instants),
        )
        return {"preview": text % {"n": len(instants)}}

    template = "admin/workers/backfill.html"

    def act(self, row: Schedule, data: dict[str, Any], **by: Any) -> str:
        instants = schedules.backfill(row.name, data["since"], data["until"], **by)
        text = ngettext(
            "%(name)s: the backfill begins %(n)d process at most.",
            "%(name)s: the backfill begins %(n)d processes at most.",
            len(instants),
        )
        return text % {"name": row.name, "n": len(instants)}


register_events(
    {
        "scheduled": lazy("A schedule was made or changed"),
        "unscheduled": lazy("A schedule ended"),
        "schedule_paused": lazy("A schedule was paused"),
        "schedule_resumed": lazy("A schedule was resumed"),
        "schedule_run": lazy("A schedule was run by hand"),
        "schedule_skipped": lazy("A schedule's next instant was left out"),
        "schedule_backfill": lazy("A backfill was begun"),
    }
)
ACTS = (_Pause(), _Resume(), _Run(), _Skip(), _Backfill())


def when(row: Schedule) -> str:
    """Return when a schedule fires, as it was declared."""
    if row.cron:
        return f"{row.cron} ({row.time_zone})"
    return _("every %(time)s") % {"time": badges.span(row.every_seconds or 0)}


def _standing(row: Any) -> SafeString:
    if row.problem:
        return format_html(
            "{} {}", badges.label(_("cannot fire"), "error", "error"), badges.message(row.problem)
        )
    if row.paused_at is not None:
        return badges.label(_("paused"), "pending", "skipped")
    if row.backfill_at is not None:
        return badges.label(_("backfill under way"), "processing", "processing")
    return badges.label(_("on"), "processed", "processed")


def _next(row: Any) -> SafeString | str:
    if row.paused_at is not None:
        return badges.NOTHING
    return badges.beside(
        badges.instant(row.next_at), _("left out") if row.skip_at == row.next_at else ""
    )


def _last(row: Any) -> SafeString | str:
    if row.last_process is None:
        return badges.NOTHING
    url = reverse("admin:workers_process_change", args=[row.last_process])
    return badges.link(url, _("process %(id)d") % {"id": row.last_process})


def _upcoming(row: Schedule) -> SafeString | str:
    try:
        instants = schedules.upcoming(row)
    except SASError as error:
        return str(error)
    lines = ((badges.instant(at),) for at in instants)
    return format_html("<ol>{}</ol>", format_html_join("", "<li>{}</li>", lines))


def _conceal(row: Any) -> Any:
    """Mask the input of a schedule in memory, as those of its processes are."""
    try:
        paths = registry.workflow(row.workflow).personal
    except UnknownWorkflow:
        row.input = row.attributes = None
    else:
        mask = Mask(paths, [row.input or {}, {"attributes": row.attributes}])
        row.input, row.subject = mask.value(row.input), mask.text(row.subject)
        row.attributes = mask.value({"attributes": row.attributes})["attributes"]
    row.problem = UNKNOWN.text(row.problem)
    return row


@admin.register(Schedule)
class ScheduleAdmin(RowPageAdmin, ReadOnlyAdmin, LiveListAdmin):
    """Schedules in code and made at run time; Beat's own entries are elsewhere."""

    change_form_template = "admin/workers/schedule_page.html"
    change_list_template = "admin/workers/schedule_list.html"
    list_display = ("name", "workflow", "when_", "standing", "next_", "last", "missed", "skipped")
    never_asked = ("input", "attributes", "subject", "problem")
    search_fields = ("name", "workflow")
    sortable_by = ("name", "workflow", "next_", "missed", "skipped")
    ordering = ("name",)
    acts = ACTS
    fields = (
        *("name", "workflow", "made", "when_", "standing", "next_", "upcoming", "last"),
        *("overlap", "catch_up_seconds", "jitter_seconds", "missed", "skipped"),
        *("subject", "input", "attributes", "backfill_at", "backfill_until"),
    )
    readonly_fields = ("made", "when_", "standing", "next_", "upcoming", "last")

    def prepare(self, request: HttpRequest, rows: list[Any]) -> None:
        set_now(rows)
        for row in rows:
            _conceal(row)

    def get_object(
        self, request: HttpRequest, object_id: str, from_field: str | None = None
    ) -> Any:
        row = super().get_object(request, object_id, from_field)
        return row and _conceal(row)

    def row_context(self, request: HttpRequest, row: Schedule) -> dict[str, Any]:
        offers = [
            (act.address_of(row.pk), act.label)
            for act in ACTS
            if act.may(request, row) and not act.why_not(row)
        ]
        return {"title": row.name, "offers": offers}

    made = column(lazy("made"), lambda row: _("in code") if row.is_declared else _("at run time"))
    when_ = column(lazy("when"), when)
    standing = column(lazy("state"), _standing)
    next_ = column(lazy("next"), _next, "next_at")
    last = column(lazy("last process"), _last)
    upcoming = column(lazy("next five"), _upcoming)
