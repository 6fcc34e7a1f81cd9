"""Deliveries: messages to routes about incidents, and the answers."""

from collections.abc import Sequence
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
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
from workers.desk.admin.list_filter import list_filter, row_id
from workers.desk.admin.lists import LiveListAdmin, column, set_now
from workers.desk.admin.masking import UNKNOWN
from workers.desk.models import Delivery, Incident, Route
from workers.desk.operate.deliveries import resend
from workers.desk.states import DeliveryState
from workers.desk.texts import alert_texts
from workers.exceptions import StateError

#: Deliveries shown on an incident's page.
SHOWN = 50


class Resend(RowAct):
    """Resend a delivery that was given up, then show the list with the button."""

    name = "resend"
    model = Delivery
    permission = "desk.resend_delivery"
    has_page = False

    def perform(self, request: HttpRequest, row: Delivery, data: dict[str, Any]) -> str:
        if not resend(row.pk, actor=actor(request)):
            raise StateError(_("It was not given up: there is nothing to send again."))
        return _("Sent again: %(delivery)s.") % {"delivery": row}


RESEND = Resend()


def _keep_route(_filter: Any, rows: QuerySet[Any], value: str) -> QuerySet[Any]:
    route_id = row_id(value)
    return rows if route_id is None else rows.filter(route_id=route_id)


RouteFilter = list_filter(
    "route__id__exact",
    lazy("route"),
    lambda _filter: ((str(pk), name) for pk, name in Route.objects.values_list("pk", "name")[:100]),
    _keep_route,
    is_strict=False,
)


def _concerns(row: Delivery) -> SafeString:
    if row.incident is None:
        return badges.NOTHING
    url = reverse("admin:desk_incident_change", args=[row.incident_id])
    return badges.link(url, title_of(row.incident))


def _again(row: Any) -> SafeString:
    if not row.may_resend:
        return badges.NOTHING
    title = _("Send again: %(delivery)s") % {"delivery": row}
    return badges.button(RESEND.address_of(row.pk), _("Send again"), title)


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
    readonly_fields = (
        *("what", "concerns", "standing", "said"),
        *("noted", "ended", "next_try", "message"),
    )
    fields = ("route", *readonly_fields[:3], "tries", *readonly_fields[3:])
    acts = (RESEND,)

    when = column(lazy("when"), lambda row: badges.instant(row.at))
    noted = column(lazy("noted"), lambda row: badges.instant(row.at))
    ended = column(lazy("ended"), lambda row: badges.instant(row.ended_at))
    next_try = column(
        lazy("next try"),
        lambda row: badges.instant(row.next_at if row.state == DeliveryState.DUE else None),
    )
    message = column(lazy("id of the message"), lambda row: row.message_id)
    standing = column(lazy("state"), standing_mark)
    what = column(lazy("told"), lambda row: str(row.get_event_display()))
    concerns = column(lazy("incident"), _concerns)
    answered = column(lazy("answer"), lambda row: answer_mark(row, row.now))
    said = column(lazy("answer"), lambda row: answer_of(row) or str(badges.NOTHING))
    again = column(lazy("send again"), _again)

    def marker(self, request: HttpRequest) -> Marker:
        return changes.of_deliveries()

    def prepare(self, request: HttpRequest, rows: list[Any]) -> None:
        set_now(rows)
        for row in rows:
            row.may_resend = row.state == DeliveryState.FAILED and RESEND.may(request)


def of_incident(incident_id: int) -> Sequence[Delivery]:
    """Return the deliveries about an incident, the newest first."""
    rows = Delivery.objects.filter(incident=incident_id).select_related("route", "digest")
    return list(rows.order_by("-pk")[:SHOWN])
