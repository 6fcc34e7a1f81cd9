"""API clients in the admin: the list, the page of one, and adding one."""

from datetime import timedelta

import pytest
from django.contrib.admin.models import LogEntry
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from orders import tokens
from orders.models import ApiClient, ApiToken
from tests.admin.conftest import staff
from tests.admin.test_clients import CASES, LIST, close, filled, rows
from tests.factories import OrderFactory


def test_the_list_tells_tokens_use_limit_and_orders(acme, operator):
    gone = tokens.issue(acme, scopes=["operate"])
    tokens.revoke(acme, gone.split("_")[1])
    used = tokens.issue(acme, scopes=["submit"]).split("_")[1]
    two_hours_ago = timezone.now() - timedelta(hours=2, minutes=1)
    ApiToken.objects.filter(prefix=used).update(last_used_at=two_hours_ago)
    OrderFactory(submitter="client:acme")
    OrderFactory(submitter="client:acme-2")
    close(ApiClient.objects.create(name="old", created_at=timezone.now()))

    html = operator.get(LIST).content.decode()

    assert "read, submit" in html
    assert "operate" not in html.split("result_list")[1]
    assert ">2 h</time>" in html
    assert "not active" in html
    link = '<a href="/admin/orders/order/?submitter=client:acme">1</a>'
    assert link in html
    found = operator.get("/admin/orders/order/?submitter=client:acme").context["cl"].result_list
    assert [row.submitter for row in found] == ["client:acme"]


def test_orders_are_counted_no_further_than_is_cheap(acme, operator, monkeypatch):
    monkeypatch.setattr("orders.admin.client.COUNTED", 1)
    for _ in range(3):
        OrderFactory(submitter="client:acme")
    with CaptureQueriesContext(connection) as queries:
        html = operator.get(LIST).content.decode()
    assert "more than 1<" in html
    counts = [
        one["sql"] for one in queries if "COUNT" in one["sql"] and "orders_order" in one["sql"]
    ]
    assert len(counts) == 1
    assert "LIMIT 2" in counts[0]


def test_the_page_offers_what_its_user_may_and_no_more(acme):
    url = f"{LIST}{acme.pk}/change/"
    assert staff("vic").get(url).context["offers"] == []
    offers = staff("ann", "issue_token", "revoke_token").get(url).context["offers"]
    assert [offer.name for offer in offers] == ["issue", "revoke"]


def test_the_page_tells_what_was_done_and_why(acme):
    client = staff("ann", "limit_client")
    client.post(CASES["limit"].url(acme), filled(CASES["limit"], acme))
    html = client.get(f"{LIST}{acme.pk}/change/").content.decode()
    assert "ann: acme may send 7 requests a minute, not 600 any more. They rang." in html


def test_a_client_is_registered_without_a_token(db):
    client = staff("ann", "register_client")
    form = {"name": "acme", "requests_per_minute": 60, "reason": "A new partner."}

    answer = client.post(f"{LIST}register/", form, follow=True)

    assert "It has no token yet." in answer.content.decode()
    made = ApiClient.objects.get()
    assert (made.name, made.requests_per_minute, made.is_active) == ("acme", 60, True)
    assert made.tokens.count() == 0
    assert LogEntry.objects.get().change_message == "acme was added. A new partner."


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        ({"name": "a b"}, "letters, numbers"),
        ({"name": "<b>"}, "letters, numbers"),
        ({"name": "x" * 41}, "at most 40"),
        ({"name": "acme"}, "There is a client of this name already."),
        ({"requests_per_minute": "0"}, "greater than or equal to 1"),
        ({"reason": ""}, "required"),
    ],
)
def test_a_client_with_a_bad_value_is_not_added(acme, bad, says):
    before = rows()
    form = {"name": "new", "requests_per_minute": 60, "reason": "Why not.", **bad}
    answer = staff("ann", "register_client").post(f"{LIST}register/", form)
    assert answer.status_code == 400
    assert says in answer.content.decode()
    assert rows() == before


def test_registering_has_a_permission_of_its_own(db):
    others = {other.permission for other in CASES.values()}
    client = staff("vic", "add_apiclient", "change_apiclient", *others)
    form = {"name": "acme", "requests_per_minute": 60, "reason": "A new partner."}
    assert client.get(f"{LIST}register/").status_code == 403
    assert client.post(f"{LIST}register/", form).status_code == 403
    assert "register" not in client.get(LIST).content.decode()
    assert not ApiClient.objects.exists()


def test_no_row_is_edited_or_deleted_by_hand(acme, admin_client):
    before = rows()
    assert admin_client.get(f"{LIST}add/").status_code == 403
    for page in ("change", "delete"):
        answer = admin_client.post(f"{LIST}{acme.pk}/{page}/", {"name": "x", "post": "yes"})
        assert answer.status_code == 403
    assert rows() == before
