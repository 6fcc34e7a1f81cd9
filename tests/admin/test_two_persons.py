"""In the admin: above a sum one operator asks, another decides, and both can be seen to have."""

import re
from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal

import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from django.utils import timezone

from orders.models import Order
from tests.admin.conftest import ACTIONS, every_row, order_in_error, staff
from tests.admin.test_masking import private_order
from tests.admin.test_verbs import CASES
from tests.factories import put
from tests.integration.test_two_persons_everywhere import WAYS
from workers.desk.models import BulkJob
from workers.models import Journal, Process, Step, UndoRequest
from workers.rules.approved_acts import Act
from workers.store.operate import undo_requests

REQUESTS = "/admin/workers/undorequest"
#: Way -> the case of its page.
PAGES = {
    "complete": "complete",
    "skip": "skip",
    "approve": "answer",
    "decline": "answer",
    "edit": "input",
    "do again what may have happened": "redo",
    "call again on one's word": "resubmit",
}
each_way = pytest.mark.parametrize(
    ("way", "name"), [(WAYS[way], page) for way, page in PAGES.items()], ids=PAGES
)
UNDO = {"name": "refund_payment", "agent": "payment.refund"}


@pytest.fixture(autouse=True)
def limit(settings) -> None:
    settings.SAS_TWO_PERSONS_ABOVE = "1000"


@pytest.fixture
def approver(db) -> Iterator[Client]:
    return staff("boss", "decide_undorequest")


def order_worth(total: str) -> Order:
    order = order_in_error()
    put(
        Step.objects.filter(process=order.process, name="reserve_stock"),
        may_have_effect=True,
        undo={"name": "release_stock", "agent": "stock.release"},
    )
    Order.objects.filter(pk=order.pk).update(total=Decimal(total))
    return order


def words(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html))


def text_of(client: Client, url: str) -> str:
    return words(client.get(url).content.decode())


def undo(client: Client, order: Order, verb: str = "cancel") -> str:
    """Post the form of a verb as its page shows it; return what the operator is told."""
    sequence = Process.objects.get(pk=order.process_id).sequence
    form = {"sequence": sequence, "reason": "placed twice"}
    url = f"/admin/workers/process/{order.process_id}/{verb}/"
    return words(client.post(url, form, follow=True).content.decode())


def asked(client: Client, total: str = "1000.01") -> UndoRequest:
    order = order_worth(total)
    undo(client, order)
    return UndoRequest.objects.get(process=order.process)


def decide(client: Client, row: UndoRequest, decision: str, comment: str = "") -> str:
    form = {"decision": decision, "comment": comment}
    answer = client.post(f"{REQUESTS}/{row.pk}/decide/", form, follow=True)
    return words(answer.content.decode())


@pytest.mark.parametrize("verb", ["cancel", "compensate", "begin-again/reserve_stock"])
def test_the_page_says_so_and_asks(operator, verb):
    order = order_worth("1000.01")
    page = text_of(operator, f"/admin/workers/process/{order.process_id}/{verb}/")
    assert "It is worth 1000.01, more than 1000.00. This requests it" in page
    assert "Ask a second person" in page

    told = undo(operator, order, verb)

    row = UndoRequest.objects.get()
    assert f"request {row.pk} waits for a second person; nothing has changed" in told
    assert "operator has asked for approval" in told
    assert Process.objects.get(pk=order.process_id).state == "error"
    refused = undo(operator, order, verb)
    assert "operator:operator has asked for that already" in refused


def test_up_to_the_sum_it_is_done_at_once(operator):
    order = order_worth("1000.00")
    page = text_of(operator, f"/admin/workers/process/{order.process_id}/cancel/")
    assert "second person" not in page
    undo(operator, order)
    assert Process.objects.get(pk=order.process_id).state == "compensating"
    assert not UndoRequest.objects.exists()


def test_second_operator_approves_request_and_both_are_audited(operator, approver):
    row = asked(operator)
    page = text_of(approver, f"{REQUESTS}/{row.pk}/change/")
    assert "operator asks about" in page
    assert "Worth 1,000.01" in page
    assert "placed twice" in page
    assert "release_stock" in page

    told = decide(approver, row, "approve", "I rang them")

    assert "is approved and carried out. Cancel: release_stock" in told
    assert Process.objects.get(pk=row.process_id).state == "compensating"
    # Both acts, each with its person, in the audit.
    audit = text_of(staff("auditor"), "/admin/workers/act/")
    assert "A second person was asked to approve an act" in audit
    assert "A second person approved an act" in audit
    people = Journal.objects.filter(event__startswith="undo_").order_by("id")
    assert list(people.values_list("actor", flat=True)) == ["operator:operator", "operator:boss"]


def test_second_operator_declines_request_only_with_reason(operator, approver):
    row = asked(operator)
    assert "Say why it is declined" in decide(approver, row, "decline")
    row.refresh_from_db()
    assert row.state == "waiting"
    assert "is declined: nothing changes" in decide(approver, row, "decline", "they paid")
    assert Process.objects.get(pk=row.process_id).state == "error"


def test_requester_and_user_without_permission_cannot_decide_request(operator):
    both = staff("both", "decide_undorequest", *ACTIONS)
    row = asked(both)
    page = text_of(both, f"{REQUESTS}/{row.pk}/change/")
    assert "It is your own: somebody else decides on it" in page
    assert "Approve" not in page
    before = every_row()
    assert "is your own" in decide(both, row, "approve")
    assert operator.post(f"{REQUESTS}/{row.pk}/decide/", {"decision": "approve"}).status_code == 403
    assert both.get(f"{REQUESTS}/{row.pk}/decide/").status_code == 405
    assert both.post(f"{REQUESTS}/999/decide/", {"decision": "approve"}).status_code == 404
    assert "Select a valid choice" in decide(both, row, "perhaps")
    assert every_row() == before


def test_what_has_moved_or_is_old_is_over(operator, approver):
    moved, old = asked(operator), asked(operator)
    Process.objects.filter(pk=moved.process_id).update(sequence=99)
    UndoRequest.objects.filter(pk=old.pk).update(asked_at=timezone.now() - timedelta(hours=25))
    for row, says in ((moved, "has moved since it was asked for"), (old, "more than 24 hours ago")):
        page = text_of(approver, f"{REQUESTS}/{row.pk}/change/")
        assert says in page
        assert "Approve" not in page
        assert "Declined:" in decide(approver, row, "approve")
        row.refresh_from_db()
        assert row.state == "declined"
        assert says in text_of(approver, f"{REQUESTS}/{row.pk}/change/")
    waiting = approver.get(f"{REQUESTS}/?is=waiting").content.decode()
    assert f"{REQUESTS}/{moved.pk}/change/" not in waiting


def test_the_desk_counts_those_that_wait(operator, approver):
    row, over = asked(operator), asked(operator)
    Process.objects.filter(pk=over.process_id).update(sequence=99)
    for url in ("/admin/", "/admin/orders/order/needs/"):
        assert "1 request for approval oldest asked" in text_of(approver, url), url
    # The front page of a project without the shop.
    front = text_of(approver, "/admin/desk/incident/desk/")
    assert "1 request for approval waits for a second person" in front
    # The order's page and the engine's own say so of the one.
    order = Order.objects.get(process=row.process_id)
    link = f"{REQUESTS}/{row.pk}/change/"
    for url in (f"orders/order/{order.pk}/change/", f"workers/process/{row.process_id}/change/"):
        assert link in operator.get(f"/admin/{url}").content.decode()
    decide(approver, row, "approve")
    assert "request for approval" not in text_of(approver, "/admin/orders/order/needs/")
    assert link not in operator.get(f"/admin/orders/order/{order.pk}/change/").content.decode()


def test_user_without_view_permission_is_told_of_no_approval_request(operator):
    asked(operator)
    client = staff("clerk")
    clerk = get_user_model().objects.get(username="clerk")
    clerk.user_permissions.set(clerk.user_permissions.exclude(codename="view_undorequest"))
    assert "request for approval oldest" not in text_of(client, "/admin/")
    assert "second person" not in text_of(client, "/admin/desk/incident/desk/")
    assert client.get(f"{REQUESTS}/").status_code == 403


def test_a_job_leaves_them_out_and_says_why(operator):
    rich, poor = order_worth("1000.01"), order_worth("10")
    form = {"action": "cancel_selected", "_selected_action": [rich.pk, poor.pk]}
    page = operator.post("/admin/orders/order/", form).content.decode()
    assert "takes two persons" in words(page)
    seen = re.search(r'name="seen" value="([^"]*)"', page)
    assert seen is not None
    assert seen[1].split(":")[0] == str(poor.process_id)
    assert not BulkJob.objects.exists()


@each_way
def test_each_page_that_moves_something_says_so_and_asks(operator, approver, wire, way, name):
    process = way.make(wire)
    case = CASES[name]
    assert "Its worth is unknown. This requests it" in text_of(operator, case.url(process))

    told = words(
        operator.post(
            case.url(process), case.filled(process, **way.more), follow=True
        ).content.decode()
    )

    row = UndoRequest.objects.get()
    assert f"request {row.pk} waits for a second person; nothing has changed" in told
    assert (row.verb, row.undo) == (way.act.verb, way.moves)
    assert not Journal.objects.filter(event=way.event, actor="operator:operator").exists()
    page = text_of(approver, f"{REQUESTS}/{row.pk}/change/")
    assert way.moves[0] in page
    assert "is approved and carried out" in decide(approver, row, "approve")
    assert Journal.objects.filter(event=way.event, actor="operator:boss").exists()


def test_what_is_asked_for_is_masked_until_the_approver_asks_to_see_it(approver):
    order = private_order()
    changes = {"customer.address": "9 Secret Row"}
    number = undo_requests.ask(
        order.process_id,
        Act("input", "", {"changes": changes}),
        actor="operator:ann",
        reason="moved",
    )
    shower = staff("shower", "decide_undorequest", "show_personal")
    page = f"{REQUESTS}/{number}/change/"
    for client in (approver, shower):
        text = text_of(client, page)
        assert "customer.address" in text
        assert "9***" in text
        assert "Secret Row" not in text

    shower.post(f"/admin/workers/process/{order.process_id}/show/")

    assert "9 Secret Row" in text_of(shower, page)
    assert "Secret Row" not in text_of(approver, page)
