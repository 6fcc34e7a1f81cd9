"""Deliveries: messages to routes about incidents, and the answers."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy
from django.utils.translation import ngettext

from workers.admin import ReadOnlyAdmin
from workers.definitions import delivery_problems
from workers.desk.admin import badges, changes
from workers.desk.admin.actions.page import actor
from workers.desk.admin.actions.row_act import RowAct
from workers.desk.admin.changes import Marker
from workers.desk.admin.lists import ClockedChangeList, LiveListAdmin, back_to
from workers.desk.admin.masking import UNKNOWN
from workers.desk.models import Delivery, Route
from workers.desk.operate.deliveries import resend
from workers.desk.states import DeliveryState
from workers.desk.texts import alert_texts
from workers.exceptions import StateError
from workers.models import Incident

PERMISSION = "desk.resend_delivery"
#: Deliveries shown on an incident's page.
SHOWN = 50


class DeliveryChangeList(ClockedChangeList):
    """A change list that adds to its rows whether the user may act."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        for row in self.result_list:
            row.may_resend = row.state == DeliveryState.FAILED and may(request)


def may(request: HttpRequest) -> bool:
    user: Any = request.user
    return bool(user.has_perm(PERMISSION))


class Resend(RowAct):
    """Resend a delivery that was given up, then show the list with the button."""

    model = Delivery
    permission = PERMISSION
    form = forms.Form
    has_page = False

    def perform(self, request: HttpRequest, row: Delivery, data: dict[str, Any]) -> str:
        if not resend(row.pk, actor=actor(request)):
            raise StateError(_("It was not given up: there is nothing to send again."))
        return _("Sent again: %(delivery)s.") % {"delivery": row}

    def url(self, request: HttpRequest, row: Delivery) -> str:
        return back_to(request, "admin:desk_delivery_changelist").url


class RouteFilter(admin.SimpleListFilter):
    title = lazy("route")
    parameter_name = "route__id__exact"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [(str(pk), name) for pk, name in Route.objects.values_list("pk", "name")[:100]]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Delivery]) -> QuerySet[Delivery]:
        value = self.value() or ""
        if not (value.isdecimal() and len(value) < 19):
            return queryset
        return queryset.filter(route_id=int(value))


@admin.register(Delivery)
class DeliveryAdmin(ReadOnlyAdmin, LiveListAdmin):
    """Messages to routes, the newest first."""

    never_asked = ("problem", "answer")
    list_display = ("when", "standing", "route", "what", "concerns", "answered", "again")
    list_display_links = ("when",)
    list_filter = ("state", RouteFilter)
    list_select_related = ("route", "incident")
    sortable_by = ()
    ordering = ("-pk",)
    fields = (
        *("route", "what", "concerns", "standing", "tries", "said"),
        *("noted", "ended", "next_try", "message"),
    )
    readonly_fields = (
        "what",
        "concerns",
        "standing",
        "said",
        "noted",
        "ended",
        "next_try",
        "message",
    )

    def get_urls(self) -> list[URLPattern]:
        wrap = self.admin_site.admin_view
        return [
            path("<int:pk>/resend/", wrap(Resend().view()), name="desk_delivery_resend"),
            *super().get_urls(),
        ]

    def marker(self, request: HttpRequest) -> Marker:
        return changes.of_deliveries()

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[DeliveryChangeList]:
        return DeliveryChangeList

    @admin.display(description=lazy("when"))
    def when(self, row: Any) -> SafeString | str:
        return badges.instant(row.at)

    @admin.display(description=lazy("noted"))
    def noted(self, row: Delivery) -> SafeString | str:
        return badges.instant(row.at)

    @admin.display(description=lazy("ended"))
    def ended(self, row: Delivery) -> SafeString | str:
        return badges.instant(row.ended_at)

    @admin.display(description=lazy("next try"))
    def next_try(self, row: Delivery) -> SafeString | str:
        return badges.instant(row.next_at) if row.state == DeliveryState.DUE else badges.NOTHING

    @admin.display(description=lazy("id of the message"))
    def message(self, row: Delivery) -> str:
        return row.message_id

    @admin.display(description=lazy("state"))
    def standing(self, row: Delivery) -> SafeString:
        return standing_mark(row)

    @admin.display(description=lazy("told"))
    def what(self, row: Delivery) -> str:
        return str(row.get_event_display())

    @admin.display(description=lazy("incident"))
    def concerns(self, row: Delivery) -> SafeString | str:
        if row.incident is None:
            return badges.NOTHING
        return format_html(
            '<a href="{}">{}</a>',
            reverse("admin:workers_incident_change", args=[row.incident_id]),
            title_of(row.incident),
        )

    @admin.display(description=lazy("answer"))
    def answered(self, row: Any) -> SafeString | str:
        return answer_mark(row, row.now)

    @admin.display(description=lazy("answer"))
    def said(self, row: Delivery) -> str:
        return answer_of(row) or str(badges.NOTHING)

    @admin.display(description=lazy("send again"))
    def again(self, row: Any) -> SafeString | str:
        if not row.may_resend:
            return badges.NOTHING
        return format_html(
            '<button type="submit" class="sas-button" formaction="{}" aria-label="{}">{}</button>',
            reverse("admin:desk_delivery_resend", args=[row.pk]),
            _("Send again: %(delivery)s") % {"delivery": row},
            _("Send again"),
        )


def title_of(incident: Incident) -> str:
    return alert_texts.title(incident.code, incident.params)


def answer_of(row: Delivery) -> str:
    """Return the last answer to a delivery, masked: receivers repeat what they are sent."""
    text = delivery_problems.answer_text(row.problem, row.answer_status, row.answer)
    return UNKNOWN.text(text)


def standing_mark(row: Delivery) -> SafeString:
    """Return the state of a delivery."""
    text = row.get_state_display()
    if row.state == DeliveryState.FAILED:
        return badges.label(text, "alert", "alert")
    if row.state == DeliveryState.DUE:
        failing = _("failing") if row.tries else text
        return badges.label(failing, "pending", "skipped" if row.tries else "processing")
    return badges.label(text, "processed", "processed")


def answer_mark(row: Delivery, now: Any) -> SafeString | str:
    """Return the answer to a delivery, its failed tries, and when the next one is due."""
    parts: list[Any] = []
    if row.tries:
        tries = ngettext("%(n)d failed try", "%(n)d failed tries", row.tries)
        parts.append(tries % {"n": row.tries})
        if row.state == DeliveryState.DUE:
            parts.append(badges.countdown(row.next_at, now, _("next in %s"), _("due %s ago")))
    answer = answer_of(row)
    if not parts and not answer:
        return badges.NOTHING
    return format_html(
        '<span class="sas-message">{}</span> <span class="sas-agent">{}</span>',
        answer,
        format_html_join(" · ", "{}", ((part,) for part in parts)),
    )


def of_incident(incident_id: int) -> Sequence[Delivery]:
    """Return the deliveries about an incident, the newest first."""
    rows = Delivery.objects.filter(incident=incident_id).select_related("route", "digest")
    return list(rows.order_by("-pk")[:SHOWN])
