"""Who may be told where: checked before anything is stored."""

import json
from datetime import timedelta
from threading import Event
from typing import Any

import pytest
from django.core.cache import cache

from orders import webhooks
from orders.models import ApiClient, Order, Product
from orders.submission import Customer, Line, SubmissionRefused, place_order
from tests.api.conftest import Caller
from workers.http import ssrf_guard
from workers.models import Process, Sink
from workers.notify import relay


@pytest.fixture(autouse=True)
def shop(db, monkeypatch) -> None:
    cache.clear()
    Product.objects.create(sku="SKU-1", name="Lamp", price="9.50", stock=100)
    # Names are looked up nowhere but here.
    known = {"acme.example": ["93.184.216.34"], "inside.example": ["93.184.216.34", "10.0.0.8"]}
    known |= {"localhost": ["127.0.0.1"], "localhost.": [], "inside.example.": []}
    monkeypatch.setattr(ssrf_guard, "look_up", lambda host, port=0: known.get(host, [host]))


@pytest.fixture
def acme() -> Caller:
    return Caller("acme")


def place(submitter: str = "client:acme", **options: Any) -> Order:
    order, _ = place_order(
        Customer("Ada", "ada@example.org", "1 Mill Lane"),
        [Line("SKU-1", 1)],
        submission_key="key-1",
        source=Order.Source.API,
        submitter=submitter,
        **options,
    )
    return order


def refused(field: str, submitter: str = "client:acme", **options: Any) -> str:
    with pytest.raises(SubmissionRefused) as caught:
        place(submitter, **options)
    assert list(caught.value.errors) == [field]
    assert not Order.objects.exists()
    assert not Process.objects.exists()
    return caught.value.errors[field]


def test_queue_and_webhook_sinks_are_stored_with_order():
    order = place(
        reply_to="replies.acme.one",
        callback_url="https://acme.example/told?shop=1",
        correlation_id="cart-7",
    )

    columns = ("process", "kind", "address", "owner", "correlation_id", "cursor", "last", "state")
    assert list(Sink.objects.order_by("kind").values_list(*columns)) == [
        (order.process_id, kind, address, "client:acme", "cart-7", 0, 1, "open")
        for kind, address in (
            ("queue", "replies.acme.one"),
            ("webhook", "https://acme.example/told?shop=1"),
        )
    ]


def test_order_without_reply_queue_or_callback_url_has_no_sink():
    place(correlation_id="cart-7")
    assert not Sink.objects.exists()


@pytest.mark.fault("F32")
@pytest.mark.parametrize(
    "reply_to",
    [
        *("replies.other.one", "replies.acme", "replies.acme.", "replies.acmes.one"),
        *("sas.agents", "sas.scheduler", "orders.submissions", "amq.rabbitmq.reply-to"),
        *("replies.acme.ä", "replies.acme.a b", "replies.acme.\n", "replies.acme." + "x" * 188),
    ],
)
def test_a_reply_queue_is_the_client_s_own_or_refused(reply_to):
    assert "replies.acme." in refused("reply_to", reply_to=reply_to)


def test_a_reply_queue_s_name_may_have_200_characters():
    place(reply_to="replies.acme." + "x" * 187)


@pytest.mark.parametrize("submitter", ["", "buyer", "ann@example.org"])
@pytest.mark.parametrize(
    ("field", "value"),
    [("reply_to", "replies.acme.one"), ("callback_url", "https://acme.example/")],
)
def test_sink_is_refused_for_submitter_other_than_client(submitter, field, value):
    assert "client" in refused(field, submitter, **{field: value})


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("http://acme.example/told", "https"),
        ("ftp://acme.example/told", "URL"),
        ("https://user:secret@acme.example/", "user name"),
        ("https://user@acme.example/", "user name"),
        ("https://", "URL"),
        ("https:///told", "host"),
        ("https://acme.example:0/", "host"),
        ("https://acme.example:99999/", "URL"),
        ("https://acme.example/ told", "URL"),
        ("https://acme.example/\r\nX: y", "URL"),
        ("https://acme.example\\@127.0.0.1/", "URL"),
        ("https://ä.example/", "URL"),
        ("https://acme.example/" + "x" * 500, "500"),
        # Read by a parser, and called by nobody.
        *(
            (f"https://{host}/", "names no host")
            for host in (
                *("[v1.x]", "[fe80::1%25eth0]", "[::1%eth0]", "a..b", "..", "."),
                *(".acme.example", "acme.example..", "acme.example%00", "acme%2eexample"),
                *("-acme.example", "acme-.example", "acme_$.example", "acme,x.example"),
                *("x" * 64 + ".example", ".".join(["x" * 60] * 5)),
                *("127.1", "0x7f.1", "2130706433", "017700000001", "0x7f000001", "1.2.3.4."),
                *("1.2.3", "1.2.3.256", "1.2.3.4.5", "acme.example.1"),
            )
        ),
        ("https://127.0.0.1/", "public"),
        ("https://[::1]/", "public"),
        ("https://[fec0::1]/", "public"),
        ("https://[64:ff9b:1::7f00:1]/", "public"),
        ("https://[::10.0.0.5]/", "public"),
        ("https://[::ffff:0:10.0.0.5]/", "public"),
        ("https://10.0.0.8/", "public"),
        ("https://169.254.169.254/latest/meta-data/", "public"),
        ("https://inside.example/", "public"),
        ("https://localhost./", "public"),
        ("https://inside.example./", "public"),
    ],
)
def test_a_webhook_s_address_is_public_and_plain_or_refused(url, says):
    assert says in refused("callback_url", callback_url=url)


@pytest.mark.parametrize(
    "host",
    [
        *("acme.example", "acme.example.", "ACME-1.example", "xn--bcher-kva.example", "1.1.1.1"),
        *("[2606:4700::1]", "a1.b2", "my_service.example", "x" * 63 + ".example", "8.example"),
    ],
)
def test_a_host_that_can_be_called_is_taken(host, monkeypatch):
    monkeypatch.setattr(ssrf_guard, "look_up", lambda host, port=0: ["93.184.216.34"])
    place(callback_url=f"https://{host}/")


@pytest.mark.parametrize("name", ["DEBUG", "SAS_WEBHOOK_PRIVATE_ADDRESSES"])
def test_where_it_is_allowed_a_webhook_may_be_on_this_machine(settings, name):
    setattr(settings, name, True)
    place(callback_url="http://127.0.0.1:8000/told")


def test_a_name_that_cannot_be_resolved_just_now_is_no_reason_to_refuse_an_order(monkeypatch):
    def fails(host: str, port: int = 0) -> list[str]:
        raise OSError("Temporary failure in name resolution")

    monkeypatch.setattr(ssrf_guard, "look_up", fails)
    place(callback_url="https://acme.example/told")


def test_a_resolver_that_hangs_does_not_keep_the_submitter(monkeypatch):
    may_answer, answered = Event(), Event()

    def hangs(host: str, port: int = 0) -> list[str]:
        may_answer.wait(30)
        answered.set()
        return []

    monkeypatch.setattr(ssrf_guard, "look_up", hangs)
    monkeypatch.setattr(ssrf_guard, "LOOK_SECONDS", 0.1)
    place(callback_url="https://acme.example/told")
    assert not answered.is_set()
    may_answer.set()


@pytest.mark.parametrize("correlation_id", ["x" * 201, "a\nb", "ä", "a\x00"])
def test_a_correlation_id_fits_into_a_header(correlation_id):
    refused("correlation_id", reply_to="replies.acme.one", correlation_id=correlation_id)


def test_the_api_takes_both_and_refuses_by_field(acme):
    bad = acme.place(reply_to="sas.agents", callback_url="http://127.0.0.1/")
    assert bad.status_code == 422
    assert [one["field"] for one in bad.json()["errors"]] == ["reply_to", "callback_url"]
    assert not Order.objects.exists()

    sinks = {"reply_to": "replies.acme.one", "callback_url": "https://acme.example/told"}
    assert acme.place(**sinks).status_code == 201
    assert Sink.objects.count() == 2
    assert acme.place(**sinks).status_code == 200
    assert Sink.objects.count() == 2
    assert acme.place(**sinks | {"reply_to": "replies.acme.two"}).status_code == 422


def test_an_order_is_told_of_by_its_number_and_id(acme, wire):
    answer = acme.place(reply_to="replies.acme.one").json()
    relay.report()

    (message,) = [json.loads(letter.body) for letter in wire.told]
    at = message.pop("at")
    assert at.endswith("Z")
    assert message == {
        "type": "order.status",
        "version": 1,
        "order_id": answer["id"],
        "number": answer["number"],
        "sequence": 1,
        "state": "pending",
        "event": "submitted",
    }


def test_a_webhook_is_signed_with_its_client_s_secrets(acme, wire):
    first = acme.client.webhook_secret
    second = webhooks.rotate(acme.client, timedelta(hours=1))
    acme.place(callback_url="https://acme.example/told")
    relay.report()
    assert wire.told[0].secrets == (second, first)

    webhooks.rotate(acme.client, timedelta(seconds=-1))
    assert webhooks.secrets_of("client:acme") == [acme.client.webhook_secret]
    ApiClient.objects.update(is_active=False)
    assert webhooks.secrets_of("client:acme") == []
    assert webhooks.secrets_of("shop:acme") == []
