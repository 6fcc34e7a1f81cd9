"""The search of a list takes words, which become its own filters in the address."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from uuid_utils.compat import uuid7

from tests.admin.conftest import order_in_error, order_with
from workers.admin.wait_filters import first_id
from workers.models import Process
from workers.supervisor import beat_schedule

pytestmark = pytest.mark.django_db

LISTS = ("/admin/orders/order/", "/admin/workers/process/")


@pytest.mark.parametrize("url", LISTS)
def test_words_lead_to_the_filters(viewer: Client, url: str) -> None:
    answer = viewer.get(url, {"q": "state:error agent:payment.* Ada", "needs": "error", "p": "2"})
    assert answer.status_code == 302
    assert answer.url == f"{url}?needs=error&state=error&with_agent=payment.%2A&q=Ada"


@pytest.mark.parametrize("url", LISTS)
def test_what_they_find(viewer: Client, url: str) -> None:
    wanted, other = order_in_error(), order_with(reserve_stock={"started": True})
    for text, order in (
        ("state:error", wanted),
        ("agent:payment.*", wanted),
        ("agent:payment.charge", wanted),
        ("agent:stock.reserve", other),
        ("step:charge_payment", wanted),
    ):
        html = viewer.get(url, {"q": text}, follow=True).content.decode()
        missing = other if order is wanted else wanted
        rows = html.partition('id="result_list"')[2].partition("</table>")[0]
        assert f"/{order.pk}/change/" in rows or f"/{order.process_id}/change/" in rows, text
        assert rows.count("<tr") == 2, text
        assert missing.pk != order.pk


@pytest.mark.parametrize("url", LISTS)
def test_since_is_a_period(viewer: Client, url: str) -> None:
    young, old = order_in_error(), order_in_error()
    now = timezone.now()
    Process.objects.filter(pk=young.process_id).update(uid=uuid7(), created_at=now)
    long_ago = now - timedelta(days=2)
    Process.objects.filter(pk=old.process_id).update(uid=first_id(long_ago), created_at=long_ago)
    for value, count in (("1h", 1), ("90m", 1), ("3d", 2)):
        html = viewer.get(url, {"since": value}).content.decode()
        rows = html.partition('id="result_list"')[2].partition("</table>")[0]
        assert rows.count("<tr") == count + 1, value
    assert viewer.get(url, {"since": "nonsense"}).status_code == 200


@pytest.mark.parametrize("url", LISTS)
def test_a_wrong_word_is_named_and_what_was_typed_stays(viewer: Client, url: str) -> None:
    order_in_error()
    answer = viewer.get(url, {"q": "state:eror paused"})
    html = answer.content.decode()
    assert answer.status_code == 200
    assert "state: must be one of" in html
    assert 'value="state:eror paused"' in html


def test_what_a_list_is_narrowed_by_stands_as_chips(viewer: Client) -> None:
    order_in_error()
    html = viewer.get(LISTS[0], {"state": "error", "with_agent": "payment.*", "q": "Ada"})
    text = html.content.decode()
    assert (
        'class="sas-button" href="?with_agent=payment.%2A&amp;q=Ada">process state: error' in text
    )
    assert 'href="?state=error&amp;with_agent=payment.%2A">search: Ada' in text
    assert 'aria-label="Narrowed by"' in text
    assert 'aria-label="Narrowed by"' not in viewer.get(LISTS[0]).content.decode()


def test_a_search_is_still_a_search(viewer: Client) -> None:
    order = order_in_error()
    for term in (order.customer_name, f'"{order.customer_name}"', "ch:123"):
        assert viewer.get(LISTS[0], {"q": term}).status_code == 200


def test_a_list_with_words_costs_no_query_more(viewer: Client) -> None:
    beat_schedule.ensure_flow()
    order_in_error()
    viewer.get(LISTS[0])
    with CaptureQueriesContext(connection) as plain:
        viewer.get(LISTS[0], {"state": "error"})
    with CaptureQueriesContext(connection) as words:
        viewer.get(LISTS[0], {"state": "error", "with_agent": "payment.*"})
    assert len(words) <= len(plain) + 1


def test_a_wrong_word_leaves_the_counts_of_filters_as_they_are(viewer: Client) -> None:
    order_in_error()
    html = viewer.get(LISTS[0], {"q": "state:eror"}).content.decode()
    assert "In error (1)" in html
