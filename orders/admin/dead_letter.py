"""Dead letters: a list, open ones first, and a page with the whole message."""

import json
from typing import Any

from django.contrib import admin
from django.contrib.admin import ShowFacets
from django.db.models import F, Q, QuerySet, TextField
from django.db.models.functions import Cast
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from orders.admin import letter_corrections, letter_groups, resolving
from orders.admin.letter_corrections import mask_of
from orders.consumer.message import PROPERTIES
from orders.letter_groups import Group
from orders.letter_groups import like as letters_like
from orders.models import DeadLetter, DroppedLetters
from workers import database_now
from workers.admin import ReadOnlyAdmin
from workers.desk.admin import badges, piles, showing
from workers.desk.admin.changes import Marker
from workers.desk.admin.list_filter import by_column, list_filter, names
from workers.desk.admin.lists import LiveListAdmin, View, column
from workers.desk.admin.masking import STARS, UNKNOWN, UNMASKED, Mask
from workers.desk.admin.piles import Kind, WaitingPile
from workers.desk.admin.row_page import MaskedPageAdmin
from workers.http import strict_json

#: Bytes of a body that are shown.
SHOWN_BYTES = 65_536
#: Names that the filter offers: strangers can make up any number.
NAMES = 50
SHAPES = {
    DeadLetter.State.OPEN: ("alert", "alert"),
    DeadLetter.State.REPLAYED: ("processed", "processed"),
    DeadLetter.State.DISCARDED: ("cancelled", "cancelled"),
}


piles.register(
    WaitingPile(
        "dead_letters",
        _("Open dead letters"),
        lambda: Kind(DeadLetter.objects.filter(state=DeadLetter.State.OPEN), "received_at"),
        *("admin:orders_deadletter_changelist", "state=open", "orders.view_deadletter"),
    )
)


def _names(request: HttpRequest) -> list[str]:
    newest = DeadLetter.objects.order_by("-pk").values_list("client", flat=True)[:1000]
    return sorted({name for name in newest if name})[:NAMES]


ClientFilter = list_filter("client", _("client"), names(_names), by_column("client"))


def standing_mark(row: DeadLetter) -> SafeString:
    return badges.label(row.get_state_display(), *SHAPES[DeadLetter.State(row.state)])


def _why(row: DeadLetter) -> SafeString:
    text = UNKNOWN.text("; ".join(f"{r['field']} {r['problem']}" for r in row.reasons))
    short = text if len(text) < 200 else f"{text[:200]}…"
    return format_html('<span class="sas-message" title="{}">{}</span>', text[:2000], short)


def _outcome(row: DeadLetter) -> SafeString | str:
    if row.order is not None:
        return badges.link(reverse("admin:orders_order_change", args=[row.order.number]), row.order)
    return row.resolved_by or badges.NOTHING


def sender_mark(row: DeadLetter | Group) -> SafeString | str:
    """Return the sender of a message or of a group, marked if the name is not proven."""
    if not row.client:
        return badges.NOTHING
    if row.is_proven:
        return format_html("<bdi>{}</bdi>", row.client)
    return format_html("{} <bdi>{}</bdi>", unproven_mark(), row.client)


@admin.register(DeadLetter)
class DeadLetterAdmin(MaskedPageAdmin, ReadOnlyAdmin, LiveListAdmin):
    """Messages that could not become orders: read-only but for the actions on them."""

    change_list_template = "admin/orders/dead_letter/list.html"
    change_form_template = "admin/orders/dead_letter/page.html"
    # The template draws the page; Django would show the bytes as a field.
    fields = ("state",)
    list_display = ("standing", "received", "sent_by", "message_id", "why", "outcome")
    list_display_links = ("standing", "message_id")
    list_filter = ("state", letter_groups.LikeFilter, ClientFilter, "received_at")
    never_asked = ("body", "corrected", "properties", "reasons", "cause", "comment")
    show_facets = ShowFacets.ALWAYS
    search_fields = ("message_id",)
    search_help_text = _(
        "Message id or client; with the right to show personal data a reason, a property or a "
        "comment, too"
    )
    list_select_related = ("order",)
    ordering = (F("resolved_at").desc(nulls_first=True), "-pk")
    actions = resolving.ACTIONS

    def marker(self, request: HttpRequest) -> Marker:
        return letter_groups.marker()

    def views(self) -> list[View]:
        return [
            ("groups", "groups/", letter_groups.show),
            ("correct", "<int:pk>/correct/", letter_corrections.correct),
            ("like", "<int:pk>/like/<slug:name>/", resolving.view_of_group),
            *resolving.views(),
            *super().views(),
        ]

    def get_queryset(self, request: HttpRequest) -> QuerySet[DeadLetter]:
        # Without the bodies: a page of the list may have fifty of a megabyte each.
        letters: QuerySet[DeadLetter] = super().get_queryset(request)
        return letters.defer("body", "corrected")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[DeadLetter], search_term: str
    ) -> tuple[QuerySet[DeadLetter], bool]:
        words = search_term.replace("\x00", "").split()
        if not words:
            return queryset, False
        if not showing.may(request):
            # Searching for parts of masked values would reveal them letter by letter.
            for word in words[:10]:
                queryset = queryset.filter(_named(word))
            return queryset, False
        letters = queryset.alias(
            reasons_text=Cast("reasons", TextField()),
            properties_text=Cast("properties", TextField()),
        )
        for word in words[:10]:
            letters = letters.filter(_named(word) | _containing(word))
        return letters, False

    def has_resolve_permission(self, request: HttpRequest) -> bool:
        return resolving.may(request)

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        # Lazy: queried only when the whole page is rendered.
        dropped = DroppedLetters.objects.order_by("-last_at")
        return super().changelist_view(request, {"dropped": dropped, **(extra_context or {})})

    def row_context(self, request: HttpRequest, row: DeadLetter) -> dict[str, Any]:
        shown = self.showing_context(request, row)
        mask = UNMASKED if shown["is_shown"] else mask_of(row)
        return {
            **shown,
            "title": _("Dead letter"),
            "letter": row,
            "comment": mask.text(row.comment),
            "reasons": mask.value(row.reasons),
            "mark": self.standing(row),
            "body": body_text(bytes(row.body), mask),
            "is_cut": len(row.body) > SHOWN_BYTES,
            "corrected": body_text(bytes(row.corrected), mask) if row.corrected else "",
            "alike": count_alike(row),
            "properties": mask.value(_properties(row)),
            "headers": _pretty(mask.value(row.properties.get("headers") or {})),
            "now": database_now(),
            "offers": resolving.offers(request, row),
        }

    def history_mask(self, row: DeadLetter) -> Mask:
        return mask_of(row)

    standing = column(_("state"), standing_mark, "state")
    received = column(_("received"), lambda row: badges.instant(row.received_at), "received_at")
    sent_by = column(_("client"), sender_mark, "client")
    why = column(_("why"), _why)
    outcome = column(_("what came of it"), _outcome)


def unproven_mark() -> SafeString:
    return badges.label(_("not proven"), "alert", "alert")


def count_alike(row: DeadLetter) -> int:
    """Return how many other open dead letters are in the same group."""
    return letters_like(row.pk).exclude(pk=row.pk).count()


def body_text(body: bytes, mask: Mask) -> str:
    """Return a body as text: JSON is indented, anything else is decoded as it is.

    A mask hides anything but JSON whole, since personal data could be anywhere in it.
    """
    try:
        return _pretty(mask.value(strict_json.read(body)))
    except strict_json.BadJson:
        if mask is not UNMASKED:
            return STARS
        return body[:SHOWN_BYTES].decode("utf-8", "backslashreplace").replace("\x00", "\\x00")


def _named(word: str) -> Q:
    return Q(message_id__icontains=word) | Q(client__icontains=word)


def _containing(word: str) -> Q:
    """Match a word in the texts that may contain personal data."""
    return (
        Q(comment__icontains=word)
        | Q(reasons_text__icontains=word)
        | Q(properties_text__icontains=word)
    )


def _pretty(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


def _properties(row: DeadLetter) -> list[tuple[str, Any]]:
    return [(name, row.properties[name]) for name in PROPERTIES if name in row.properties]
