"""Requests for approval: those that wait, the decisions on the others, a page of each."""

from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.formats import number_format
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from workers.admin import ReadOnlyAdmin
from workers.desk.admin import badges, masking, piles, showing, subjects, undo_request_views
from workers.desk.admin.list_filter import list_filter
from workers.desk.admin.lists import LiveListAdmin, column, set_now
from workers.desk.admin.panel import pretty
from workers.desk.admin.piles import Kind, WaitingPile
from workers.desk.admin.row_page import RowPageAdmin
from workers.desk.admin.undo_request_views import label_of, over, waiting
from workers.models import UndoRequest
from workers.rules.refusals import text_of
from workers.states import PEOPLE, UndoRequestState
from workers.store.db import dialect

piles.register(
    WaitingPile(
        "undo_requests",
        lazy("Requests for approval"),
        lambda: Kind(waiting(UndoRequest.objects.all()), "asked_at"),
        *("admin:workers_undorequest_changelist", "is=waiting", "workers.view_undorequest"),
    )
)

#: By state of a request: the state of a step whose shape and tone it has.
LOOKS = {
    UndoRequestState.WAITING: "pending",
    UndoRequestState.APPROVED: "processed",
    UndoRequestState.DECLINED: "skipped",
}


def _keep_state(_filter: Any, rows: QuerySet[Any], value: str) -> QuerySet[Any]:
    if value == UndoRequestState.WAITING:
        return waiting(rows)
    return rows.filter(state=value) if value in UndoRequestState.values else rows


StateFilter = list_filter(
    "is",
    lazy("state"),
    [(state.value, state.label) for state in UndoRequestState],
    _keep_state,
    is_strict=False,
)


def _about(row: Any) -> SafeString | str:
    subject = str(row.process.subject)
    return badges.link(row.subject_url, subject) if row.subject_url else subject


def _worth(row: UndoRequest) -> str:
    if row.amount is None:
        return _("unknown")
    return number_format(row.amount, 2, force_grouping=True)


def _asked(row: Any) -> SafeString:
    return badges.beside(row.asked_by.removeprefix(PEOPLE), badges.age(row.asked_at, row.now))


def _decided(row: Any) -> SafeString:
    if row.decided_at is None:
        return badges.NOTHING
    return badges.beside(row.decided_by.removeprefix(PEOPLE), badges.instant(row.decided_at))


@admin.register(UndoRequest)
class UndoRequestAdmin(RowPageAdmin, ReadOnlyAdmin, LiveListAdmin):
    """Requests, the newest first; with rights of their own to see them and to decide."""

    change_form_template = "admin/workers/undo_request/page.html"
    list_display = ("number", "standing", "about", "worth", "asked", "why", "decided")
    list_display_links = ("number",)
    never_asked = ("reason", "comment", "given", "refusal")
    list_filter: ClassVar = (StateFilter,)
    list_select_related = ("process",)
    search_fields = ("asked_by", "decided_by")
    search_help_text = lazy("Who asked or decided")
    sortable_by = ()
    ordering = ("-id",)
    acts = (undo_request_views.DECIDE,)

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).defer("process__input")

    def prepare(self, request: HttpRequest, rows: list[Any]) -> None:
        set_now(rows)
        masks = masking.of_processes(row.process_id for row in rows)
        urls = subjects.pages(row.process_id for row in rows)
        for row in rows:
            row.subject_url = urls.get(row.process_id, "")
            conceal(row, masks[row.process_id])

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return undo_request_views.may_see(request)

    def row_context(self, request: HttpRequest, row: UndoRequest) -> dict[str, Any]:
        now = dialect.read_clock()
        mask = masking.of_processes([row.process_id])[row.process_id]
        if showing.is_shown(request, row.process):
            mask = masking.UNMASKED
        conceal(row, mask)
        why_over = over(row, now)
        return {
            "title": _("Request %(n)d: %(what)s") % {"n": row.pk, "what": what(row)},
            "asked": row,
            "what": what(row),
            "given": params_text(row, mask),
            "state": standing_mark(row, why_over),
            "subject_url": subject_url(request, row),
            "now": now,
            "server_now": now.isoformat(),
            "why_over": why_over,
            "form": undo_request_views.DecisionForm(),
            "may_decide": undo_request_views.may_decide(request, row) and not why_over,
            "is_own": undo_request_views.is_own(request, row),
        }

    number = column(lazy("request"), lambda row: f"{row.pk} {what(row)}")
    standing = column(lazy("state"), lambda row: standing_mark(row, over(row, row.now)))
    about = column(lazy("about"), _about)
    worth = column(lazy("worth"), _worth)
    asked = column(lazy("asked"), _asked)
    why = column(lazy("why"), lambda row: badges.message(row.reason))
    decided = column(lazy("decided"), _decided)


def conceal(row: UndoRequest, mask: masking.Mask) -> None:
    """Mask a request in memory, and set in words why it came too late: never to be saved."""
    untyped: Any = row
    row.reason, row.comment = mask.text(row.reason), mask.text(row.comment)
    why = text_of(row.refusal["code"], row.refusal["params"]) if row.refusal else ""
    untyped.too_late = mask.text(why)


def what(row: UndoRequest) -> str:
    """Return what is asked for; a verb that this code does not have, by its name."""
    label = label_of(row)
    return f"{label}: {row.step}" if row.step else label


def params_text(row: UndoRequest, mask: masking.Mask) -> str:
    """Return the other parameters of the verb as JSON, masked; empty if it has none."""
    changes = row.given.get("changes")
    if isinstance(changes, dict):
        return pretty({path: mask.value_at(path, value) for path, value in changes.items()})
    return pretty(mask.record(row.given)) if row.given else ""


def standing_mark(row: UndoRequest, why_over: str) -> SafeString:
    """Return the state of a request; "over" if it waits but can no longer be approved."""
    if why_over:
        return badges.label(_("over"), "skipped", "skipped")
    look = LOOKS[UndoRequestState(row.state)]
    return badges.label(row.get_state_display(), look, look)


def subject_url(request: HttpRequest, row: UndoRequest) -> str:
    """Return the URL of the subject of a request; empty if there is none to see."""
    url = subjects.pages([row.process_id]).get(row.process_id, "")
    if not url and request.user.has_perm("workers.view_process"):
        url = reverse("admin:workers_process_change", args=[row.process_id])
    return url
