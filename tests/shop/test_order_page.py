"""An order's page: the truth in plain words, live until the end."""

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from orders import wording
from orders.models import Order
from tests.factories import StepFactory
from tests.shop.conftest import order_with
from workers.models import Process, Step

UNAVAILABLE = {"kind": "unavailable", "code": "unreachable", "message": "ECONNREFUSED 10.0.0.7"}
TRANSIENT = {"kind": "transient", "code": "http_500", "message": "answered 500"}


def page_of(client: Client, order: Order) -> str:
    return text_of(client.get(order.get_absolute_url()).content.decode())


def text_of(html: str) -> str:
    """Return what a reader sees, in one line."""
    return " ".join(re.sub(r"<[^>]+>", " ", html.rpartition("</head>")[2]).split())


def poll(client: Client, order: Order, **seen: str) -> tuple[int, str]:
    answer = client.get(f"{order.get_absolute_url()}progress/", seen)
    return answer.status_code, answer.content.decode()


def seen_in(html: str) -> dict[str, str]:
    return dict(re.findall(r'name="(seen|said)" value="(\w+)"', html))


def test_a_new_order_says_that_it_was_received(client):
    order = order_with("pending", reserve_stock={"pending": True})

    text = page_of(client, order)

    assert f"Order {order.number}" in text
    assert "Received We have your order and begin with it now." in text
    assert "0 of 5 steps done" in text
    assert "Reserving your items Next Begins in a moment." in text
    assert "Taking your payment Not yet" in text
    assert "Total €37.00" in text


def test_a_started_step_shows_the_time_left(client):
    order = order_with(
        reserve_stock={"processed": True}, charge_payment={"started": True, "timeout_seconds": 90}
    )

    html = client.get(order.get_absolute_url()).content.decode()

    assert "In progress Right now: taking your payment." in text_of(html)
    assert re.search(r"Waiting for the answer: 1 min (30|2\d) s left \.", text_of(html))
    assert re.search(r'<progress class="left" max="90" value="(90|8\d)\.\d"', html)


def test_a_service_that_is_away_is_named_with_the_time_of_the_next_attempt(client):
    order = order_with(
        reserve_stock={"processed": True},
        charge_payment={
            "pending": True,
            "not_before": timezone.now() + timedelta(seconds=600),
            "fault": UNAVAILABLE,
        },
    )

    text = page_of(client, order)

    assert re.search(
        r"Taking your payment Trying again The payment service is not answering\. "
        r"We try again in (10 min 00|9 min 5\d) s \. You will not be charged twice\.",
        text,
    )
    assert (
        "In progress The payment service is not answering. We keep trying; there is nothing "
        "for you to do. You will not be charged twice." in text
    )


def test_nothing_technical_reaches_the_buyer(client):
    order = order_with(
        charge_payment={"started": True, "fault": UNAVAILABLE, "locked_by": "agent@host-7"}
    )

    html = client.get(order.get_absolute_url()).content.decode()

    assert "10.0.0.7" not in html
    assert "host-7" not in html
    assert "charge_payment" not in html


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (
            {"pending": True, "failure_count": 1, "fault": TRANSIENT},
            "Trying again, attempt 2 of 3 The delivery service had a problem.",
        ),
        (
            {"started": True, "failure_count": 2, "fault": {"kind": "expired"}},
            "Trying again, attempt 3 of 3 The delivery service did not answer in time.",
        ),
        ({"started": True, "failure_count": 0}, "Booking the delivery In progress Waiting"),
    ],
)
def test_attempts_are_numbered_once_one_has_failed(client, step, words):
    order = order_with(book_shipment=step)

    assert words in page_of(client, order)


def test_an_order_in_error_says_what_it_waits_for(client):
    order = order_with("error", charge_payment={"error": True}, issue_invoice={"pending": True})

    text = page_of(client, order)

    assert "Held up Our staff" in text
    assert (
        "Taking your payment Held up, 3 of 3 attempts failed The payment service had a problem. "
        "It waits for one of our people. You will not be charged twice." in text
    )
    assert "Writing your invoice Next Goes on as soon as the problem is solved." in text


@pytest.mark.parametrize(
    ("name", "code", "words"),
    [
        ("charge_payment", "card_declined", "Your card was declined. You were not charged."),
        ("reserve_stock", "out_of_stock", "Something you ordered has just sold out."),
        ("issue_invoice", "http_418", "The invoice service could not accept this order."),
    ],
)
def test_a_refusal_is_told_in_friendly_words(client, name, code, words):
    fault = {"kind": "permanent", "code": code, "message": "POST /x: answered 4xx"}
    order = order_with("error", **{name: {"error": True, "fault": fault, "failure_count": 0}})

    text = page_of(client, order)

    assert f"Held up {words} It waits for one of our people." in text
    assert "charged twice" not in text


def test_skipped_steps_say_whether_they_were_needed(client):
    order = order_with(
        "processed",
        book_shipment={"skipped": True},
        send_confirmation={"skipped": True, "fault": UNAVAILABLE},
    )

    text = page_of(client, order)

    assert "Booking the delivery Skipped Not needed for this order." in text
    assert "Sending your confirmation Skipped This did not work." in text


def test_a_step_this_shop_has_no_words_for_is_shown_by_its_name(client):
    order = order_with()
    Step.objects.filter(name="issue_invoice").update(
        name="wrap_gift", state="pending", not_before=timezone.now(), fault=TRANSIENT
    )

    assert "Wrap gift Trying again A service had a problem." in page_of(client, order)


def test_state_is_told_by_word_and_icon_not_by_colour_alone(client):
    order = order_with(reserve_stock={"processed": True}, charge_payment={"started": True})

    html = client.get(order.get_absolute_url()).content.decode()

    shapes = re.findall(r'<li class="step (\w+)">\s*<svg[^>]*>(.*?)</svg>', html)
    assert [tone for tone, _ in shapes] == ["processed", "processing", *["waiting"] * 3]
    assert len({shape for _, shape in shapes}) == 3


def test_an_open_order_is_polled_and_works_without_javascript(client):
    order = order_with()

    html = client.get(order.get_absolute_url()).content.decode()

    assert f'hx-get="/orders/{order.secret}/progress/" hx-trigger="every 1s"' in html
    assert '<noscript><meta http-equiv="refresh"' in html
    assert '<div id="state" role="status">' in html


def test_a_final_order_is_not_polled(client):
    order = order_with("processed")

    html = client.get(order.get_absolute_url()).content.decode()

    assert "Complete Everything is done. Thank you!" in text_of(html)
    assert "hx-trigger" not in html
    assert "http-equiv" not in html


def test_a_poll_answers_nothing_while_nothing_changed(client):
    order = order_with(charge_payment={"started": True})
    page = client.get(order.get_absolute_url()).content.decode()

    assert poll(client, order, **seen_in(page)) == (204, "")


def test_a_poll_answers_a_change_and_announces_it_once(client):
    order = order_with(charge_payment={"started": True})
    page = client.get(order.get_absolute_url()).content.decode()
    Step.objects.filter(name="reserve_stock").update(state="processed", result={})

    status, quiet = poll(client, order, **seen_in(page))
    Process.objects.update(state="error")
    _, loud = poll(client, order, **seen_in(quiet))

    assert status == 200
    assert "1 of 5 steps done" in quiet
    assert "<html" not in quiet
    assert "hx-swap-oob" not in quiet
    assert '<div id="state" hx-swap-oob="innerHTML">' in loud
    assert "Held up" in loud


def test_polling_is_told_to_stop_when_the_order_is_final(client):
    order = order_with(charge_payment={"started": True})
    page = client.get(order.get_absolute_url()).content.decode()
    Process.objects.update(state="processed", finished_at=timezone.now())

    status, html = poll(client, order, **seen_in(page))
    again, _ = poll(client, order, **seen_in(html))

    assert status == again == 286
    assert "Everything is done. Thank you!" in html


@pytest.mark.parametrize("secret", ["unknown", "x" * 22, "%00", "a.b", "' OR 1=1"])
def test_an_unknown_secret_is_not_found(client, secret):
    order_with()

    assert client.get(f"/orders/{secret}/").status_code == 404
    assert client.get(f"/orders/{secret}/progress/").status_code == 404


def test_an_order_cannot_be_found_by_its_number_or_public_id(client):
    order = order_with()

    assert client.get(f"/orders/{order.number}/").status_code == 404
    assert client.get(f"/orders/{order.public_id}/").status_code == 404


def test_the_page_is_kept_out_of_caches_and_search_engines(client):
    order = order_with()

    answer = client.get(order.get_absolute_url())

    assert "no-store" in answer.headers["Cache-Control"]
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    assert '<meta name="robots" content="noindex">' in answer.content.decode()


def test_page_hides_skipped_review_and_explains_started_review(client):
    order = order_with(reserve_stock={"processed": True})
    review = StepFactory(process=order.process, name="review", position=9, skipped=True)
    looks = "One of our people looks at large orders. Nothing has been charged yet."
    label = wording.STEPS["review"].label
    assert label not in page_of(client, order)

    Step.objects.filter(pk=review.pk).delete()
    StepFactory(process=order.process, name="review", position=9, started=True)
    text = page_of(client, order)
    assert label in text
    assert looks in text


def test_a_poll_takes_five_queries(client, django_assert_num_queries):
    order = order_with(charge_payment={"started": True})

    with django_assert_num_queries(5):
        client.get(f"{order.get_absolute_url()}progress/")


def test_page_reports_declined_card_and_mentions_no_staff(client):
    refused = {"kind": "refused", "code": "do_not_honour", "message": "answered 402"}
    order = order_with(reserve_stock={"processed": True}, charge_payment={"error": True})
    Step.objects.filter(process=order.process, name="charge_payment").update(
        fault=refused, failure_count=0
    )
    Step.objects.filter(process=order.process, state="waiting").update(state="cancelled")
    Process.objects.filter(pk=order.process_id).update(
        state="compensated", outcome="compensated", finished_at=timezone.now()
    )

    text = page_of(client, order)

    assert "Undone We could not complete your order. Everything was undone." in text
    assert "Taking your payment Refused Your card was declined. You were not charged." in text
    assert "Our people" not in text
    assert "steps done" not in text
