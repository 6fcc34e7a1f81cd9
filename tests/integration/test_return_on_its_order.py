"""A return is on the pages of its order: by a column, for the buyer and for operators alike."""

import json
from io import StringIO

import pytest
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.test import Client

from orders.models import Order
from orders.returning import ReturnRefused, accept_return
from tests.factories import ProcessFactory
from tests.shop.conftest import order_with
from tests.shop.test_order_page import page_of
from workers.models import Process, Step


@pytest.fixture
def order() -> Order:
    return order_with("processed", charge_payment={"processed": True})


@pytest.fixture
def operator(client) -> Client:
    client.force_login(get_user_model().objects.create_superuser("root"))
    return client


def stand(process: Process, step: str | None, state: str = "processing") -> None:
    """Put a return where its step ``step`` is under way."""
    ended = process.created_at if state == "compensated" else None
    Process.objects.filter(pk=process.pk).update(
        state=state, finished_at=ended, outcome=state if ended else None
    )
    Step.objects.filter(process=process).update(state="waiting", not_before=None)
    Step.objects.filter(process=process, name=step).update(
        state="pending", not_before=process.created_at
    )


@pytest.mark.parametrize(
    ("step", "state", "words"),
    [
        ("await_parcel", "pending", "Your return has begun: we wait for your parcel."),
        ("inspect", "processing", "Your parcel has come back: one of our people looks at it."),
        ("refund", "processing", "Your return is accepted: we put your items back"),
        (None, "error", "Our staff will look at your return. It is on hold"),
        (None, "compensated", "Your return has ended: nothing was refunded."),
    ],
)
def test_the_buyer_reads_where_the_return_is(client, order, step, state, words):
    assert "return" not in page_of(client, order).lower()

    stand(accept_return(order, actor="ann"), step, state)

    assert words in page_of(client, order)
    assert "have been told" not in page_of(client, order)


def test_the_newest_return_is_what_the_buyer_reads(client, order):
    stand(accept_return(order, actor="ann"), None, "compensated")
    accept_return(order, actor="ann")

    assert "we wait for your parcel" in page_of(client, order)
    assert "has ended" not in page_of(client, order)


def test_the_return_of_another_order_is_not_on_the_page(client, order):
    other = order_with("processed", charge_payment={"processed": True})
    accept_return(other, actor="ann")

    assert "return" not in page_of(client, order).lower()


def test_operators_see_all_returns_of_an_order(operator, order):
    first = accept_return(order, actor="ann")
    stand(first, None, "compensated")
    second = accept_return(order, actor="ann")

    html = operator.get(f"/admin/orders/order/{order.number}/change/").content.decode()

    places = [html.index(f"/admin/workers/process/{one.pk}/change/") for one in (second, first)]
    assert places == sorted(places)
    assert "await_parcel" in html


def test_what_a_return_says_of_the_buyer_is_masked(operator, order):
    Process.objects.filter(pk=order.process_id).update(
        input={"customer": {"name": "Ada Lovelace", "email": "ada@example.org", "address": "x"}}
    )
    process = accept_return(order, actor="ann")
    stand(process, None, "error")
    fault = {"kind": "permanent", "code": "x", "message": "no account of Ada Lovelace"}
    Step.objects.filter(process=process, name="refund").update(state="error", fault=fault)
    url = f"/admin/orders/order/{order.number}/change/"

    html = operator.get(url).content.decode()

    assert "no account of A***" in html
    assert "Lovelace" not in html.partition("notes-title")[0]


def test_an_open_page_of_the_admin_learns_of_its_return(operator, order):
    url = f"/admin/orders/order/{order.number}/live/"
    seen = operator.get(url, headers={"HX-Request": "true"}).headers["X-Seen"]
    asked = {"HX-Request": "true", "X-Seen": seen}
    assert operator.get(url, headers=asked).status_code == 204

    accept_return(order, actor="ann")

    assert "Return of order" in operator.get(url, headers=asked).content.decode()


def test_a_terminal_shows_the_returns(order):
    process = accept_return(order, actor="ann")
    out, as_json = StringIO(), StringIO()

    call_command("order", "show", str(order.number), stdout=out)
    call_command("order", "show", str(order.number), "--json", stdout=as_json)

    assert f"Return of order {order.number} (process {process.pk})  pending" in out.getvalue()
    [shown] = json.loads(as_json.getvalue())["returns"]
    assert (shown["process"], shown["state"]) == (process.pk, "pending")


def test_a_title_makes_no_return(order):
    ProcessFactory(workflow="return", subject=f"Return of order {order.number}")

    accept_return(order, actor="ann")
    with pytest.raises(ReturnRefused, match="begun already"):
        accept_return(order, actor="ann")
