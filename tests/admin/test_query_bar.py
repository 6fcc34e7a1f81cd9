"""The search of a list takes words, which become its own filters in the address."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from orders.models import Order
from tests.admin.conftest import order_in_error, order_with
from workers.desk.admin import search
from workers.desk.admin.filters import OUT_OF_ORDER, first_id
from workers.models import Process, Step
from workers.supervisor import beat_schedule

LISTS = ("/admin/orders/order/", "/admin/workers/process/")


@pytest.mark.parametrize("url", LISTS)
def test_words_lead_to_the_filters(viewer, url):
    answer = viewer.get(url, {"q": "state:error agent:payment.* Ada", "needs": "error", "p": "2"})
    assert answer.status_code == 302
    assert answer.url == f"{url}?needs=error&state=error&with_agent=payment.%2A&q=Ada"


@pytest.mark.parametrize("url", LISTS)
def test_what_they_find(viewer, url):
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
def test_since_is_a_period(viewer, url):
    old, young = order_in_error(), order_in_error()
    now = timezone.now()
    Process.objects.filter(pk=young.process_id).update(created_at=now)
    Process.objects.filter(pk=old.process_id).update(created_at=now - timedelta(days=2))
    for value, count in (("1h", 1), ("90m", 1), ("3d", 2)):
        html = viewer.get(url, {"since": value}).content.decode()
        rows = html.partition('id="result_list"')[2].partition("</table>")[0]
        assert rows.count("<tr") == count + 1, value
    assert viewer.get(url, {"since": "nonsense"}).status_code == 200


def test_first_id_of_a_period_is_found_by_halving():
    now = timezone.now()
    pks = [order_in_error().process_id for _ in range(5)]
    for age, pk in enumerate(reversed(pks)):
        Process.objects.filter(pk=pk).update(created_at=now - timedelta(hours=age))
    Process.objects.filter(pk=pks[2]).update(state="error")

    found = [first_id(now - timedelta(hours=hours) + OUT_OF_ORDER) for hours in (0, 1, 2.5, 9)]

    assert found == [pks[4], pks[3], pks[2], pks[0]]
    assert first_id(now + timedelta(hours=1)) > pks[4]


@pytest.mark.parametrize("url", LISTS)
def test_a_wrong_word_is_named_and_what_was_typed_stays(viewer, url):
    order_in_error()
    answer = viewer.get(url, {"q": "state:eror paused"})
    html = answer.content.decode()
    assert answer.status_code == 200
    assert "state: must be one of" in html
    assert 'value="state:eror paused"' in html


def test_what_a_list_is_narrowed_by_stands_as_chips(viewer):
    order_in_error()
    html = viewer.get(LISTS[0], {"state": "error", "with_agent": "payment.*", "q": "Ada"})
    text = html.content.decode()
    assert (
        'class="sas-button" href="?with_agent=payment.%2A&amp;q=Ada">process state: error' in text
    )
    assert 'href="?state=error&amp;with_agent=payment.%2A">search: Ada' in text
    assert 'aria-label="Narrowed by"' in text
    assert 'aria-label="Narrowed by"' not in viewer.get(LISTS[0]).content.decode()


def test_what_only_sorts_or_counts_is_no_chip(viewer):
    order_in_error()
    asked = {"o": "3", "_facets": "True", "state": "error"}
    html = viewer.get(LISTS[0], asked).content.decode()
    chips = html.partition('aria-label="Narrowed by"')[2].partition("</ul>")[0]
    assert chips.count("<li>") == 1
    assert "process state: error" in chips


@pytest.mark.parametrize("url", LISTS)
def test_what_looks_like_a_word_and_finds_nothing_is_told_to_be_none(viewer, url):
    order_in_error()
    said = "nonsense: is no word of a list, and was searched for. Words: state:, "
    for text in ("nonsense:1", "state:error nonsense:1"):
        assert said in viewer.get(url, {"q": text}, follow=True).content.decode(), text
    for text in ("Nobody", '"nonsense:1"', "0b1e:3:1"):
        html = viewer.get(url, {"q": text}, follow=True).content.decode()
        assert "is no word of a list" not in html, text


def test_a_search_is_still_a_search(viewer):
    order = order_in_error()
    for term in (order.customer_name, f'"{order.customer_name}"', "ch:123"):
        assert viewer.get(LISTS[0], {"q": term}).status_code == 200


def test_a_list_with_words_costs_no_query_more(viewer):
    beat_schedule.ensure_flow()
    order_in_error()
    viewer.get(LISTS[0])
    with CaptureQueriesContext(connection) as plain:
        viewer.get(LISTS[0], {"state": "error"})
    with CaptureQueriesContext(connection) as words:
        viewer.get(LISTS[0], {"state": "error", "with_agent": "payment.*"})
    assert len(words) <= len(plain) + 1


def test_a_wrong_word_leaves_the_counts_of_filters_as_they_are(viewer):
    order_in_error()
    html = viewer.get(LISTS[0], {"q": "state:eror"}).content.decode()
    assert "In error (1)" in html


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("money>100", {250}),
        ("money>=100 state:error", {100, 250}),
        ("money<99.50", {20}),
        ("money<=100", {20, 100}),
        ("money=20", {20}),
        ("money:20..100", {20, 100}),
    ],
)
def test_money_is_compared(viewer, text, found):
    for total in (20, 100, 250):
        Order.objects.filter(pk=order_in_error().pk).update(total=total)
    rows = viewer.get(LISTS[0], {"q": text}, follow=True).context["cl"].result_list
    assert {row.total for row in rows} == found


@pytest.mark.parametrize(
    "text", ["money>", "money:100", "money>1e3", "money>ten", "money:9..2", "money>١٠", "money>-1"]
)
def test_money_that_is_no_amount_is_refused(viewer, text):
    order_in_error()
    html = viewer.get(LISTS[0], {"q": text}).content.decode()
    assert "money must be compared with an amount" in html or "money: needs a value" in html


def test_an_address_with_no_amount_finds_nothing(viewer):
    order_in_error()
    assert not viewer.get(LISTS[0], {"money": "lots"}).context["cl"].result_list


def test_a_list_that_knows_no_money_says_so(viewer):
    html = viewer.get(LISTS[1], {"q": "money>100"}).content.decode()
    assert "money is no word of this list" in html


def holding(result: dict[str, object]) -> Order:
    order = order_in_error()
    Step.objects.filter(process=order.process, name="reserve_stock").update(result=result)
    return order


@pytest.mark.parametrize("url", LISTS)
@pytest.mark.parametrize("text", ["{}", "ref:{}"])
def test_a_service_s_own_reference_is_found(viewer, url, text):
    charged = holding({"charge": "ch_3f0c55", "amount": "12.00"})
    nested = holding({"parcels": [{"id": "JD-0146/77"}]})
    holding({"ch_3f0c55": "a key", "near": "ch_3f0c555", "said": 'x "ch_3f0c55" y'})
    for reference, order in (("ch_3f0c55", charged), ("JD-0146/77", nested)):
        rows = viewer.get(url, {"q": text.format(reference)}, follow=True).context["cl"].result_list
        assert [getattr(row, "process_id", row.pk) for row in rows] == [order.process_id]


def test_a_reference_is_looked_for_in_the_newest_steps_only(viewer, monkeypatch):
    holding({"charge": "ch_0001"})
    young = holding({"charge": "ch_0001"})
    monkeypatch.setattr(search, "NEWEST_STEPS", 3)
    assert search.process_ids("ch_0001") == {young.process_id}


@pytest.mark.parametrize("term", ["Ada Lovelace", "Lovelace", "104217", "ada@example.org", "a1"])
def test_what_can_be_no_reference_is_not_looked_for_in_results(viewer, term):
    order_in_error()
    with CaptureQueriesContext(connection) as queries:
        search.process_ids(term)
    assert not [query for query in queries if "result" in query["sql"].partition("WHERE")[2]]


@pytest.mark.parametrize("url", LISTS)
def test_what_is_quoted_is_searched_for_without_its_quotes(viewer, url):
    order = order_in_error()
    Process.objects.filter(pk=order.process_id).update(subject="money>100")
    Order.objects.filter(pk=order.pk).update(reference="money>100")
    rows = viewer.get(url, {"q": '"money>100"'}).context["cl"].result_list
    assert len(rows) == 1
