"""API clients and what they show, made and ended; and the shop's own admin."""

from collections.abc import Callable
from datetime import timedelta
from io import StringIO
from typing import Any

from django.contrib.admin.models import LogEntry
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.test import Client

from orders import tokens, webhooks
from orders.admin.client_act import version_of
from orders.models import ApiClient, ApiToken, Product
from tests.crashes.doors import acme, page
from tests.crashes.scenario import Scenario, nothing
from workers.models import Journal
from workers.testing import Aftermath, Wire


def _issue() -> None:
    tokens.issue(ApiClient.objects.get())


def _issued(after: Aftermath) -> None:
    # Whoever saw no token has another made: the first is good as well, and known to nobody.
    is_made = after.crash is not None and after.crash.point.endswith(":after")
    assert ApiToken.objects.filter(revoked_at=None).count() == 2 + is_made


def _rotate() -> None:
    tokens.rotate(ApiClient.objects.get(), timedelta(hours=1))


def _rotated(after: Aftermath) -> None:
    assert ApiToken.objects.filter(expires_at=None).count() == 1
    is_made = after.crash is not None and after.crash.point == "tokens.rotate:after"
    assert ApiToken.objects.exclude(expires_at=None).count() == 1 + is_made


def _revoke() -> None:
    tokens.revoke(ApiClient.objects.get())


def _revoked(after: Aftermath) -> None:
    assert tokens.verify(page["token"]) is None
    assert ApiToken.objects.exclude(revoked_at=None).count() == 1


def _rotate_secret() -> None:
    client = ApiClient.objects.get()
    if client.webhook_secret == page["secret"]:
        webhooks.rotate(client, timedelta(hours=1))


def _with_secret(wire: Wire) -> None:
    page["secret"] = acme(wire).webhook_secret


def _secret_rotated(after: Aftermath) -> None:
    client = ApiClient.objects.get()
    assert client.old_webhook_secret == page["secret"] != client.webhook_secret


def _add_client() -> None:
    if not ApiClient.objects.exists():
        call_command("client", "add", "acme", stdout=StringIO())


def _client_added(after: Aftermath) -> None:
    # Never a client without its token: then no other could be added under that name.
    assert ApiClient.objects.get().tokens.count() == 1


def _in_admin(wire: Wire) -> None:
    get_user_model().objects.create_superuser("ann", password="x")
    page["seen"] = version_of(acme(wire))


def _post(url: str, **form: Any) -> int:
    client = Client()
    client.force_login(get_user_model().objects.get())
    return client.post(f"/admin/orders/{url}", {"reason": "because", **form}).status_code


def _revoke_in_admin() -> None:
    status = _post(f"apiclient/{ApiClient.objects.get().pk}/revoke/", seen=page["seen"])
    assert status in (302, 409)


def _revoked_and_logged(after: Aftermath) -> None:
    _revoked(after)
    assert LogEntry.objects.count() == 1


def _register() -> None:
    _post("apiclient/register/", name="new", requests_per_minute=600)


def _registered(after: Aftermath) -> None:
    assert ApiClient.objects.filter(name="new").count() == 1
    assert LogEntry.objects.count() == 1


def _restock() -> None:
    product = Product.objects.get()
    if product.name == "Lamp":
        form = {"sku": "SKU-001", "price": "9.50", "is_listed": "on", "picture": ""}
        _post(f"product/{product.pk}/change/", name="Torch", restock="5", description="", **form)


def _restocked(after: Aftermath) -> None:
    product = Product.objects.get()
    assert (product.name, product.stock) == ("Torch", 105)


def _two_in_admin(wire: Wire) -> None:
    _in_admin(wire)
    Product.objects.create(sku="SKU-002", name="Desk", price="99.00", stock=5)


def _delete() -> None:
    product = Product.objects.filter(sku="SKU-001").first()
    if product is not None:
        assert _post(f"product/{product.pk}/delete/", post="yes") == 302


def _delete_selected() -> None:
    selected = list(Product.objects.values_list("pk", flat=True))
    if selected:
        form = {"action": "delete_selected", "_selected_action": selected, "post": "yes"}
        assert _post("product/", **form) == 302


def _deleted(*skus: str) -> Callable[[Aftermath], None]:
    def check(after: Aftermath) -> None:
        assert not Product.objects.filter(sku__in=skus).exists()
        rows = Journal.objects.filter(event="product_deleted", actor="operator:ann")
        assert sorted(row.detail["sku"] for row in rows) == sorted(skus)
        assert LogEntry.objects.count() == len(skus)

    return check


SCENARIOS = [
    Scenario("issue a token", _issue, _issued, prepare=acme, run=nothing),
    Scenario("rotate tokens", _rotate, _rotated, prepare=acme, run=nothing),
    Scenario("revoke tokens", _revoke, _revoked, prepare=acme, run=nothing),
    Scenario("rotate a secret", _rotate_secret, _secret_rotated, prepare=_with_secret, run=nothing),
    Scenario("add a client", _add_client, _client_added, run=nothing),
    Scenario(
        "revoke in the admin", _revoke_in_admin, _revoked_and_logged, prepare=_in_admin, run=nothing
    ),
    Scenario("register a client", _register, _registered, prepare=_in_admin, run=nothing),
    Scenario("restock", _restock, _restocked, prepare=_in_admin, run=nothing),
    Scenario("delete a product", _delete, _deleted("SKU-001"), prepare=_two_in_admin, run=nothing),
    Scenario(
        "delete selected products",
        _delete_selected,
        _deleted("SKU-001", "SKU-002"),
        prepare=_two_in_admin,
        run=nothing,
    ),
]
