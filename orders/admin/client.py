"""API clients: the list, and a page of each with its tokens, its actions and their log."""

from typing import Any

from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from orders import reply_queues, webhooks
from orders.admin.client_act import REGISTER
from orders.admin.client_acts import ACTS
from orders.models import ApiClient, ApiToken, Order
from workers.admin import ReadOnlyAdmin
from workers.desk.admin import badges
from workers.desk.admin.actions.available import Offer
from workers.desk.admin.lists import AskableListAdmin, LiveMedia, column, set_now
from workers.desk.admin.row_page import RowPageAdmin

#: Orders are counted up to this bound: the list counts those of each client on the page.
COUNTED = 10_000
#: Log entries on a client's page.
LOGGED = 20


def active_mark(row: ApiClient) -> SafeString:
    if row.is_active:
        return badges.label(_("active"), "processed", "processed")
    return badges.label(_("not active"), "cancelled", "cancelled")


def _good_tokens(row: Any) -> SafeString:
    tokens = [token for token in row.all_tokens if is_good(token, row.now)]
    if not tokens:
        return badges.NOTHING
    scopes = sorted({scope for token in tokens for scope in token.scopes})
    return badges.labelled(_("tokens"), badges.beside(len(tokens), ", ".join(scopes)))


def _last_used(row: Any) -> SafeString | str:
    times = [token.last_used_at for token in row.all_tokens if token.last_used_at]
    return badges.labelled(_("used"), badges.age(max(times), row.now)) if times else _("never used")


def _orders(row: Any) -> SafeString:
    count = row.order_count
    if row.may_see_orders:
        count = badges.link(orders_url(row), count)
    return badges.labelled(_("orders"), count)


@admin.register(ApiClient)
class ApiClientAdmin(RowPageAdmin, ReadOnlyAdmin, AskableListAdmin):
    """Read-only but for its actions, each with its permission; shows no secret anywhere."""

    change_list_template = "admin/orders/client/list.html"
    change_form_template = "admin/orders/client/page.html"
    # The template draws the page; Django would show the secrets as fields.
    fields = ("name",)
    list_display = ("name", "standing", "good_tokens", "last_used", "limit", "orders")
    list_filter = ("is_active",)
    never_asked = ("webhook_secret", "old_webhook_secret")
    search_fields = ("name",)
    search_help_text = lazy("Name")
    ordering = ("name",)
    list_per_page = 50
    actions = None
    acts = (REGISTER, *ACTS)

    class Media(LiveMedia):
        pass

    def get_queryset(self, request: HttpRequest) -> QuerySet[ApiClient]:
        return super().get_queryset(request).prefetch_related("tokens")

    def prepare(self, request: HttpRequest, rows: list[Any]) -> None:
        set_now(rows)
        for row in rows:
            row.all_tokens = list(row.tokens.all())
            row.order_count = order_count(row)
            row.may_see_orders = request.user.has_perm("orders.view_order")

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        context = {
            "title": _("API clients"),
            "may_register": REGISTER.may(request),
            **(extra_context or {}),
        }
        return super().changelist_view(request, context)

    def row_context(self, request: HttpRequest, row: ApiClient) -> dict[str, Any]:
        return _page_context(request, row)

    standing = column(lazy("state"), active_mark, "is_active")
    good_tokens = column(lazy("good tokens"), _good_tokens)
    last_used = column(lazy("last used"), _last_used)
    limit = column(
        lazy("requests a minute"),
        lambda row: badges.labelled(_("limit"), f"{row.requests_per_minute:,}"),
        "requests_per_minute",
    )
    orders = column(lazy("orders"), _orders)


def _page_context(request: HttpRequest, row: ApiClient) -> dict[str, Any]:
    now = timezone.now()
    content_type = ContentType.objects.get_for_model(ApiClient)
    log = LogEntry.objects.filter(content_type=content_type, object_id=str(row.pk))
    return {
        "title": _("API client"),
        "client": row,
        "mark": active_mark(row),
        "now": now,
        "order_count": order_count(row),
        "orders_url": orders_url(row),
        "sinks_url": f"{reverse('admin:workers_sink_changelist')}?owner={row.submitter}",
        "reply_prefix": reply_queues.prefix(row),
        "is_rotating": webhooks.promised_until(row, now) is not None,
        "lines": [
            (token, _token_mark(token, now), _revoke_url(request, token, now))
            for token in row.tokens.all()
        ],
        "offers": _offers(request, row),
        "log": log.select_related("user")[:LOGGED],
    }


def _offers(request: HttpRequest, row: ApiClient) -> list[Offer]:
    """Return the actions that the user may perform on a client now."""
    return [
        Offer(
            act.label,
            act.address_of(row.pk),
            act.name,
            act.is_grave,
        )
        for act in ACTS
        if not act.is_of_token
        and request.user.has_perm(act.permission)
        and not act.refusal(row, "")
    ]


def _revoke_url(request: HttpRequest, token: ApiToken, now: Any) -> str:
    """Return the address that revokes a token; empty if it is not good or the user may not."""
    if not is_good(token, now) or not request.user.has_perm("orders.revoke_token"):
        return ""
    return reverse("admin:orders_apiclient_revoke_one", args=[token.client_id, token.prefix])


def _token_mark(token: ApiToken, now: Any) -> SafeString:
    if token.revoked_at:
        return badges.label(_("revoked"), "cancelled", "cancelled")
    if not is_good(token, now):
        return badges.label(_("over"), "skipped", "skipped")
    return badges.label(_("good"), "processed", "processed")


def is_good(token: ApiToken, now: Any) -> bool:
    return token.revoked_at is None and (token.expires_at is None or token.expires_at > now)


def order_count(row: ApiClient) -> str:
    """Return how many orders a client has placed, counted up to ``COUNTED``."""
    n = Order.objects.filter(submitter=row.submitter).order_by()[: COUNTED + 1].count()
    return f"{n:,}" if n <= COUNTED else _("more than %(n)s") % {"n": f"{COUNTED:,}"}


def orders_url(row: ApiClient) -> str:
    return f"{reverse('admin:orders_order_changelist')}?submitter={row.submitter}"
