"""Holds: what operators have stopped, since when, why, and until when."""

from typing import Any

from django.contrib import admin
from django.db.models import F
from django.http import HttpRequest, HttpResponse
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from workers.admin import ReadOnlyAdmin
from workers.desk.admin import badges, masking
from workers.desk.admin.hold_views import HOLD, LIFT
from workers.desk.admin.lists import LiveListAdmin, column
from workers.models import Hold


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
