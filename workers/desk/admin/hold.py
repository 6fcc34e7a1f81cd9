"""Holds: what operators have stopped, since when, why, and until when."""

from typing import Any

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.db.models import F
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from workers.admin import ReadOnlyAdmin
from workers.desk.admin import badges, hold_views, masking
from workers.desk.admin.lists import LiveListAdmin
from workers.models import Hold


class _HoldChangeList(ChangeList):
    """A change list that adds to its rows whether the user may lift them."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        self.result_list = masking.conceal_words(self.result_list, "reason")
        for row in self.result_list:
            row.may_lift = row.ended_at is None and hold_views.may(request)


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

    def get_urls(self) -> list[URLPattern]:
        wrap = self.admin_site.admin_view
        return [
            path("hold/", wrap(hold_views.HOLD.view()), name="workers_hold_hold"),
            path("<int:pk>/lift/", wrap(hold_views.LIFT.view()), name="workers_hold_lift"),
            *super().get_urls(),
        ]

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return _HoldChangeList

    def get_object(
        self, request: HttpRequest, object_id: str, from_field: str | None = None
    ) -> Any:
        row = super().get_object(request, object_id, from_field)
        # Read-only, and shown by Django's own page.
        return row and masking.conceal_words([row], "reason")[0]

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        context = {"may_hold": hold_views.may(request), **(extra_context or {})}
        return super().changelist_view(request, context)

    @admin.display(description=lazy("held"))
    def what(self, row: Hold) -> str:
        return badges.hold(row.kind, row.name)

    @admin.display(description=lazy("state"), ordering=F("ended_at").desc(nulls_first=True))
    def standing(self, row: Hold) -> SafeString:
        if row.ended_at is None:
            return badges.label(_("in force"), "pending", "skipped")
        return badges.label(_("lifted"), "processed", "processed")

    @admin.display(description=lazy("began"), ordering="began_at")
    def began(self, row: Hold) -> SafeString:
        return _instant_and_name(row.began_at, row.began_by)

    @admin.display(description=lazy("lifted"), ordering="ended_at")
    def ended(self, row: Hold) -> SafeString | str:
        return _instant_and_name(row.ended_at, row.ended_by) if row.ended_at else badges.NOTHING

    @admin.display(description=lazy("lift"))
    def lift(self, row: Any) -> SafeString | str:
        if not row.may_lift:
            return badges.NOTHING
        return format_html(
            '<a class="sas-button" href="{}">{}<span class="visually-hidden"> {}</span></a>',
            reverse("admin:workers_hold_lift", args=[row.pk]),
            _("Lift…"),
            self.what(row),
        )


def _instant_and_name(at: Any, name: str) -> SafeString:
    return format_html('{} <span class="sas-agent">{}</span>', badges.instant(at), name)
