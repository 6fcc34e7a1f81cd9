"""API clients: the list, and a page of each with its tokens, its actions and their log."""

from typing import Any

from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.contrib.admin.views.main import ChangeList
from django.contrib.contenttypes.models import ContentType
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.html import format_html
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
from workers.desk.admin.lists import AskableListAdmin, ClockedChangeList, LiveMedia
from workers.desk.admin.row_page import RowPageAdmin

#: Orders are counted up to this bound: the list counts those of each client on the page.
COUNTED = 10_000
#: Log entries on a client's page.
LOGGED = 20


class ClientChangeList(ClockedChangeList):
    """Adds each client's tokens and number of orders to its row."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        for row in self.result_list:
            row.all_tokens = list(row.tokens.all())
            row.order_count = order_count(row)
            row.may_see_orders = request.user.has_perm("orders.view_order")


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

    class Media(LiveMedia):
        pass

    def get_urls(self) -> list[URLPattern]:
        wrap = self.admin_site.admin_view
        return [
            path("register/", wrap(REGISTER.view()), name="orders_apiclient_register"),
            *(
                path(
                    f"<int:pk>/{act.address}",
                    wrap(act.view()),
                    name=f"orders_apiclient_{act.name}",
                )
                for act in ACTS
            ),
            *super().get_urls(),
        ]

    def get_queryset(self, request: HttpRequest) -> QuerySet[ApiClient]:
        return super().get_queryset(request).prefetch_related("tokens")

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return ClientChangeList

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

    @admin.display(description=lazy("state"), ordering="is_active")
    def standing(self, row: ApiClient) -> SafeString:
        return active_mark(row)

    @admin.display(description=lazy("good tokens"))
    def good_tokens(self, row: Any) -> SafeString | str:
        tokens = [token for token in row.all_tokens if is_good(token, row.now)]
        if not tokens:
            return badges.NOTHING
        scopes = sorted({scope for token in tokens for scope in token.scopes})
        text = format_html('{} <span class="sas-agent">{}</span>', len(tokens), ", ".join(scopes))
        return _labelled(_("tokens"), text)

    @admin.display(description=lazy("last used"))
    def last_used(self, row: Any) -> SafeString | str:
        times = [token.last_used_at for token in row.all_tokens if token.last_used_at]
        return _labelled(_("used"), badges.age(max(times), row.now)) if times else _("never used")

    @admin.display(description=lazy("requests a minute"), ordering="requests_per_minute")
    def limit(self, row: ApiClient) -> SafeString:
        return _labelled(_("limit"), f"{row.requests_per_minute:,}")

    @admin.display(description=lazy("orders"))
    def orders(self, row: Any) -> SafeString | str:
        count = row.order_count
        if row.may_see_orders:
            count = format_html('<a href="{}">{}</a>', orders_url(row), row.order_count)
        return _labelled(_("orders"), count)


def _labelled(label: str, value: Any) -> SafeString:
    """Return a value with its column's label, which narrow screens show instead of the head."""
    return format_html('<span class="sas-label">{} </span>{}', label, value)


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
            reverse(f"admin:orders_apiclient_{act.name}", args=[row.pk]),
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


def active_mark(row: ApiClient) -> SafeString:
    if row.is_active:
        return badges.label(_("active"), "processed", "processed")
    return badges.label(_("not active"), "cancelled", "cancelled")


def is_good(token: ApiToken, now: Any) -> bool:
    return token.revoked_at is None and (token.expires_at is None or token.expires_at > now)


def order_count(row: ApiClient) -> str:
    """Return how many orders a client has placed, counted up to ``COUNTED``."""
    n = Order.objects.filter(submitter=row.submitter).order_by()[: COUNTED + 1].count()
    return f"{n:,}" if n <= COUNTED else _("more than %(n)s") % {"n": f"{COUNTED:,}"}


def orders_url(row: ApiClient) -> str:
    return f"{reverse('admin:orders_order_changelist')}?submitter={row.submitter}"
