"""The corpus in the admin: as what was stored, in every place that a stranger's text gets to."""

import re

import pytest
from django.contrib import admin
from django.test import Client
from django.urls import reverse
from django.utils.html import escape

from orders.consumer.handling import handle
from orders.consumer.message import Message
from tests.admin.conftest import alert_about, note, order_in_error
from tests.factories import ProductFactory
from tests.hostile import corpus
from workers.models import Process
from workers.runtime.visible_text import visible

# The addresses load the admin's pages, of which there are none before.
reverse("admin:index")
LISTS = {
    meta.label_lower: reverse(f"admin:{meta.app_label}_{meta.model_name}_changelist")
    for meta in (model._meta for model in admin.site._registry)
    if meta.app_label in ("orders", "workers", "desk")
    # A form of one's own, and pages that show all there is.
    and meta.model_name not in ("preferences", "minute", "proberesult")
}


@pytest.fixture
def root(db, django_user_model) -> Client:
    """Somebody who may see every list."""
    client = Client(raise_request_exception=False)
    client.force_login(django_user_model.objects.create_superuser("root"))
    return client


def assert_inert(page: str, text: str) -> None:
    if escape(text) != text:
        assert text not in page
    assert not re.search(r"<(script>|svg/|img src=x)", page)


@pytest.mark.volume
@pytest.mark.fault("F31")
@pytest.mark.parametrize("name", corpus.LEGAL)
def test_a_text_in_every_place_it_can_be_stored_in(root, acme, quiet, name):
    text = corpus.LEGAL[name]
    fault = {"kind": "permanent", "code": "odd", "message": text}
    order = order_in_error(fault=fault)
    order.customer_name = order.customer_address = text
    order.reference = text[:100]
    order.save()
    Process.objects.filter(pk=order.process_id).update(
        subject=text, input={text: [text]}, submission_key=text[:100]
    )
    note(order, "failed", actor=text[:100], detail={"message": text})
    alert_about(order, message=text)
    ProductFactory(sku="TEXT", name=text, description=text)
    headers = {"client": text, "token": text, text: text}
    letter = handle(Message(text.encode(), {"message_id": text, "app_id": text}, headers)).letter
    assert letter is not None

    pages = [
        *LISTS.values(),
        reverse("admin:index"),
        reverse("admin:orders_order_change", args=[order.number]),
        reverse("admin:workers_process_change", args=[order.process_id]),
        reverse("admin:orders_deadletter_change", args=[letter.pk]),
    ]
    for page in pages:
        answer = root.get(page)
        assert answer.status_code == 200, page
        assert_inert(answer.content.decode(), text)
    for page in (LISTS["orders.order"], pages[-3]):
        assert escape(visible(text, keep="\t\n\r")) in root.get(page).content.decode()
    for place in ("orders.order", "orders.deadletter", "orders.product"):
        answer = root.get(LISTS[place], {"q": text})
        assert answer.status_code == 200
        assert_inert(answer.content.decode(), text)
    quiet()


@pytest.mark.fault("F29")
def test_every_dead_letter_has_its_page(root, acme):
    for body in (*corpus.OVERSIZED.values(), *(body for body, _ in corpus.UNREADABLE.values())):
        letter = handle(Message(body, {"message_id": "key-1"}, {"token": acme.token})).letter
        assert letter is not None
        answer = root.get(reverse("admin:orders_deadletter_change", args=[letter.pk]))
        assert answer.status_code == 200
        assert acme.token not in answer.content.decode()
    answer = root.get(LISTS["orders.deadletter"])
    assert answer.status_code == 200
    assert acme.token not in answer.content.decode()


@pytest.mark.fault("F31")
@pytest.mark.parametrize("label", LISTS)
def test_no_list_answers_questions_about_other_tables(root, acme, label):
    for parameter in ("process__steps__idempotency_key__startswith", "tokens__digest__startswith"):
        answer = root.get(LISTS[label], {parameter: "a"}, follow=True)
        # Refused, or led back to the whole list, with a word that it was not understood.
        assert answer.status_code == 400 or answer.redirect_chain
