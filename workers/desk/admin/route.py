"""Routes: who is told of incidents, whether that works, and a test of it."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import Exists, OuterRef, QuerySet, Subquery
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST

from workers.desk.admin import badges, changes
from workers.desk.admin.actions.page import actor, write_log
from workers.desk.admin.changes import Marker
from workers.desk.admin.delivery import answer_of, standing_mark
from workers.desk.admin.lists import LiveListAdmin, View, back_to, column, set_now
from workers.desk.admin.route_form import RouteForm, kind_names
from workers.desk.models import Delivery, Route
from workers.desk.notify import incident_relay
from workers.desk.states import DeliveryState
from workers.desk.store import routes
from workers.store.db import dialect

TEST, MUTE = "desk.test_route", "desk.mute_route"
MUTED_SECONDS = 3600


def may(request: HttpRequest, permission: str) -> bool:
    user: Any = request.user
    return bool(user.has_perm(permission))


@require_POST
def test_one(request: HttpRequest, pk: int) -> HttpResponse:
    """Send a test to a route at once, and report the answer."""
    if not may(request, TEST):
        raise PermissionDenied
    route = get_object_or_404(Route, pk=pk)
    is_delivered = incident_relay.test(route.pk, actor=actor(request))
    delivery = Delivery.objects.filter(route=route).order_by("-pk").first()
    if delivery is None:
        messages.warning(request, _("%(route)s is gone.") % {"route": route})
        return redirect("admin:desk_route_changelist")
    text = (
        _("Sent to %(route)s: %(answer)s") if is_delivered else _("%(route)s failed: %(answer)s")
    ) % {
        "route": route,
        "answer": answer_of(delivery) or _("the mail server took it."),
    }
    write_log(request, route, text, "")
    (messages.success if is_delivered else messages.error)(request, text)
    if request.POST.get("from") == "page":
        return redirect("admin:desk_route_change", route.pk)
    return back_to(request, "admin:desk_route_changelist")


@admin.action(description=lazy("Mute selected routes for an hour"), permissions=["mute"])
def mute_selected(
    model_admin: admin.ModelAdmin, request: HttpRequest, queryset: QuerySet[Route]
) -> None:
    """Mute the selected routes for an hour; longer times are set on their pages."""
    until = dialect.read_clock() + timedelta(seconds=MUTED_SECONDS)
    rows = queryset.order_by("pk")
    count = sum(routes.mute(route, until, actor=actor(request)) for route in rows)
    text = ngettext("%(n)d route is muted.", "%(n)d routes are muted.", count) % {"n": count}
    messages.success(request, text)


@admin.action(description=lazy("Tell selected routes again"), permissions=["mute"])
def unmute_selected(
    model_admin: admin.ModelAdmin, request: HttpRequest, queryset: QuerySet[Route]
) -> None:
    rows = queryset.order_by("pk")
    count = sum(routes.mute(route, None, actor=actor(request)) for route in rows)
    text = ngettext("%(n)d route is told again.", "%(n)d routes are told again.", count)
    messages.success(request, text % {"n": count})


def _standing(row: Any) -> SafeString:
    if not row.is_active:
        return badges.label(_("off"), "cancelled", "cancelled")
    if row.muted_until is not None and row.muted_until > row.now:
        until = badges.countdown(row.muted_until, row.now, _("%s left"))
        return format_html("{} {}", badges.label(_("muted"), "pending", "skipped"), until)
    if row.is_failing or (row.last is not None and row.last.state == DeliveryState.FAILED):
        return badges.label(_("failing"), "alert", "alert")
    return badges.label(_("on"), "processed", "processed")


def _told_of(row: Route) -> SafeString:
    parts = [str(row.get_least_severity_display()), *kind_names(row), *row.agents]
    return badges.message(", ".join(parts))


def _newest(row: Any) -> SafeString:
    if row.last is None:
        return badges.NOTHING
    return format_html(
        '{} <a class="sas-agent" href="{}">{}</a>',
        standing_mark(row.last),
        reverse("admin:desk_delivery_changelist") + f"?route__id__exact={row.pk}",
        badges.age(row.last.at, row.now),
    )


def _test(row: Any) -> SafeString:
    if not row.may_test:
        return badges.NOTHING
    url = reverse("admin:desk_route_test", args=[row.pk])
    return badges.button(url, _("Send a test"), _("Send a test to %(route)s") % {"route": row})


@admin.register(Route)
class RouteAdmin(LiveListAdmin):
    """Who is told of incidents."""

    form = RouteForm
    change_form_template = "admin/workers/route_page.html"
    list_display = ("name", "standing", "kind", "masked", "told_of", "newest", "test")
    never_asked = ("address", "secret")
    sortable_by = ()
    ordering = ("name",)
    actions = (mute_selected, unmute_selected)
    fieldsets = (
        (None, {"fields": ("name", "kind", "address", "secret", "is_active")}),
        (lazy("Which incidents"), {"fields": ("least_severity", "kinds", "agents")}),
        (
            lazy("When"),
            {
                "fields": (
                    *("repeat_seconds", "digest_seconds", "hourly_limit"),
                    *("quiet_from", "quiet_to", "time_zone", "muted_until"),
                )
            },
        ),
        (lazy("Words"), {"fields": ("language",)}),
    )

    def views(self) -> list[View]:
        return [("test", "<int:pk>/test/", test_one), *super().views()]

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        if obj is None or self.has_change_permission(request, obj):
            return super().get_fieldsets(request, obj)
        # A user who may only view sees nothing secret.
        shown = (*("masked", "told_of", "repeat_seconds", "digest_seconds", "hourly_limit"),)
        quiet = ("quiet_from", "quiet_to", "time_zone", "language", "muted_until", "is_active")
        return ((None, {"fields": ("name", "kind", *shown, *quiet)}),)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        if obj is None or self.has_change_permission(request, obj):
            return ()
        return ("masked", "told_of")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Route]:
        deliveries = Delivery.objects.filter(route=OuterRef("pk"))
        rows: QuerySet[Route] = super().get_queryset(request)
        return rows.annotate(
            last_id=Subquery(deliveries.order_by("-pk").values("pk")[:1]),
            is_failing=Exists(deliveries.filter(state=DeliveryState.DUE, tries__gt=0)),
        )

    def marker(self, request: HttpRequest) -> Marker:
        return changes.of_deliveries()

    def prepare(self, request: HttpRequest, rows: list[Any]) -> None:
        set_now(rows)
        deliveries = Delivery.objects.in_bulk([row.last_id for row in rows if row.last_id])
        for row in rows:
            row.last = deliveries.get(row.last_id)
            row.may_test = may(request, TEST)

    def has_mute_permission(self, request: HttpRequest) -> bool:
        return may(request, MUTE)

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        context = {"may_test": may(request, TEST), **(extra_context or {})}
        return super().change_view(request, object_id, form_url, context)

    def save_model(self, request: HttpRequest, obj: Route, form: Any, change: bool) -> None:
        routes.save(obj, actor=actor(request))
        if form.new_secret:
            text = _("Webhooks are signed with this secret, which is shown only now: %(secret)s")
            messages.warning(request, text % {"secret": form.new_secret})

    def delete_model(self, request: HttpRequest, obj: Route) -> None:
        routes.delete(obj, actor=actor(request))

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Route]) -> None:
        for route in queryset.order_by("pk"):
            routes.delete(route, actor=actor(request))

    def get_deleted_objects(
        self, objs: Sequence[Any] | QuerySet[Any], request: HttpRequest
    ) -> tuple[list[str], dict[str, int], set[str], list[str]]:
        """Count the deliveries that are deleted, too: to list each of them says nothing."""
        count = Delivery.objects.filter(route__in=objs).count()
        summary = ngettext("and %(n)d delivery", "and %(n)d deliveries", count) % {"n": count}
        model_count = {str(Delivery._meta.verbose_name_plural): count}
        return [*map(str, objs), summary], model_count, set(), []

    standing = column(lazy("state"), _standing)
    masked = column(lazy("address"), lambda row: badges.message(row.masked_address))
    told_of = column(lazy("told of"), _told_of)
    newest = column(lazy("last delivery"), _newest)
    test = column(lazy("test"), _test)
