"""Two of everything: no step claimed or expired twice, no join lost, no order doubled.

Each guard is also taken away once, to show that its race would be seen.
"""

import threading
from collections import Counter
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.db import DEFAULT_DB_ALIAS, OperationalError, connections, transaction

from orders.models import Order, OrderLine, Product
from orders.submission import Customer, Line, place_order
from tests.concurrency.racing import meeting_before_the_write, race
from tests.integration.conftest import NOW, only
from workers.client.submission import submit
from workers.definitions import registry
from workers.definitions.agent import Call, Deadline
from workers.models import Journal, Process, Step
from workers.protocol.messages import Reply
from workers.store.claims import claim_steps, release
from workers.store.db import bulk_update, dialect
from workers.store.expire import expire_claims
from workers.store.locked import load, save
from workers.store.settle import filed_replies, settle_replies
from workers.supervisor import beat_schedule
from workers.testing.agent_processes import room as anywhere

pytestmark = pytest.mark.django_db(transaction=True)

TOY = {"toy.alpha", "toy.beta", "toy.gamma"}


@pytest.fixture(autouse=True)
def flow_rows(transactional_db) -> None:
    beat_schedule.ensure()


def submit_some(count: int, workflow: str = "toy_line") -> list[Process]:
    return [submit(workflow, subject=f"Toy {n}", input={}, now=NOW) for n in range(count)]


def claim_until_none() -> list[claim_steps.Claim]:
    found: list[claim_steps.Claim] = []
    while taken := claim_steps.claim_due(TOY, anywhere(), NOW):
        found += taken
    return found


def without_where(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take away the locks and the conditions of the writes."""
    monkeypatch.setattr(dialect, "lock_rows", lambda *args, **kwargs: "")
    real = bulk_update.send_update
    monkeypatch.setattr(
        bulk_update,
        "send_update",
        lambda table, columns, found, assign, where, **options: real(
            table, columns, found, assign, "true", **options
        ),
    )


@pytest.mark.fault("F18")
def test_two_processes_never_claim_the_same_step(monkeypatch):
    submit_some(20)

    with meeting_before_the_write(monkeypatch, 2):
        results = race([claim_until_none] * 2)

    assert [result for result in results if isinstance(result, Exception)] == []
    counts = Counter(claim.step_id for result in results for claim in result)
    assert (len(counts), set(counts.values())) == (20, {1})
    assert Journal.objects.filter(event="claimed").count() == 20


@pytest.mark.postgresql
def test_without_its_guards_a_step_would_be_claimed_twice(monkeypatch):
    submit_some(1)
    without_where(monkeypatch)

    with meeting_before_the_write(monkeypatch, 2):
        results = race([lambda: claim_steps.claim_due(TOY, anywhere(), NOW)] * 2)

    # The journal's own constraint is the last to hold.
    assert any(isinstance(result, Exception) for result in results) or sum(map(len, results)) == 2


@pytest.mark.sqlite
def test_without_immediate_transactions_processes_would_meet_locks(monkeypatch):
    submit_some(20)
    options = connections.settings[DEFAULT_DB_ALIAS]["OPTIONS"]
    monkeypatch.setitem(options, "transaction_mode", None)

    with meeting_before_the_write(monkeypatch, 2):
        results = race([claim_until_none] * 2)

    assert any(isinstance(result, OperationalError) for result in results)


@pytest.mark.fault("F18")
def test_two_supervisors_never_expire_the_same_step(monkeypatch):
    submit_some(10)
    claim_steps.claim_due(TOY, anywhere(), NOW)
    after = NOW + timedelta(seconds=40)

    with meeting_before_the_write(monkeypatch, 2):
        results = race(
            [lambda: expire_claims.expire("a", after), lambda: expire_claims.expire("b", after)]
        )

    assert [result for result in results if isinstance(result, Exception)] == []
    assert sum(result.reset for result in results) == 10
    assert set(Step.objects.filter(name="one").values_list("failure_count", flat=True)) == {1}
    assert Journal.objects.filter(event="expired").count() == 10


@pytest.mark.postgresql
def test_without_its_guards_a_step_would_be_expired_twice(monkeypatch):
    submit_some(1)
    claim_steps.claim_due(TOY, anywhere(), NOW)
    without_where(monkeypatch)
    after = NOW + timedelta(seconds=40)

    with meeting_before_the_write(monkeypatch, 2):
        results = race([lambda: expire_claims.expire("a", after)] * 2)

    assert (
        any(isinstance(result, Exception) for result in results)
        or sum(result.reset for result in results) == 2
    )


def two_branches_about_to_finish() -> tuple[Process, list[Reply]]:
    (process,) = submit_some(1, "toy_diamond")
    found = claim_steps.claim_due(TOY, anywhere(), NOW)
    top = Reply(found[0].step_id, found[0].claim_id, 1, result={})
    branches = settle_replies.apply([top], "a", NOW, own_room=anywhere()).claims
    return process, [Reply(c.step_id, c.claim_id, 1, result={}) for c in branches]


def test_two_branches_that_finish_at_once_do_not_lose_their_join(monkeypatch):
    process, (left, right) = two_branches_about_to_finish()

    with meeting_before_the_write(monkeypatch, 2):
        results = race(
            [
                lambda: settle_replies.apply([left], "a", NOW, own_room=anywhere()),
                lambda: settle_replies.apply([right], "b", NOW, own_room=anywhere()),
            ]
        )

    assert [result for result in results if isinstance(result, Exception)] == []
    assert sum(len(result.claims) for result in results) == 1
    assert only(process, "bottom").state == "processing"


@pytest.mark.postgresql
def test_without_the_process_lock_the_join_would_be_lost(monkeypatch):
    process, (left, right) = two_branches_about_to_finish()
    monkeypatch.setattr(dialect, "lock_rows", lambda *args, **kwargs: "")
    # The process row's own sequence would be written by both, too.
    monkeypatch.setattr(save, "processes", lambda processes: [])
    monkeypatch.setattr("workers.store.journal.write", lambda entries, at: None)

    with meeting_before_the_write(monkeypatch, 2):
        results = race(
            [
                lambda: settle_replies.apply([left], "a", NOW, own_room=anywhere()),
                lambda: settle_replies.apply([right], "b", NOW, own_room=anywhere()),
            ]
        )

    assert [result.applied for result in results] == [1, 1]
    assert only(process, "bottom").state == "waiting"


@pytest.mark.fault("F8")
def test_a_late_reply_and_an_expiry_have_one_winner(monkeypatch):
    (process,) = submit_some(1)
    found = claim_steps.claim_due(TOY, anywhere(), NOW)
    reply = Reply(found[0].step_id, found[0].claim_id, 1, result={})
    after = NOW + timedelta(seconds=40)

    with meeting_before_the_write(monkeypatch, 2):
        settled, expired = race(
            [
                lambda: settle_replies.apply([reply], "scheduler", after),
                lambda: expire_claims.expire("supervisor", after),
            ]
        )

    assert settled.applied + expired.reset == 1
    step = only(process, "one")
    assert step.state == ("processed" if settled.applied else "pending")
    assert step.failure_count == expired.reset


@pytest.mark.postgresql
def test_a_reply_that_is_filed_in_the_middle_of_a_sweep_is_kept(monkeypatch):
    (process,) = submit_some(1)
    (work,) = claim_steps.claim_due(TOY, anywhere(), NOW)
    reply = Reply(work.step_id, work.claim_id, 1, result={"n": 1})
    filed: list[bool] = []
    real = load.write_part

    def file_first(*args: Any) -> Any:
        if not filed:
            filed.extend(
                race([lambda: filed_replies.file(reply, "agent", NOW + timedelta(seconds=29))])
            )
        return real(*args)

    monkeypatch.setattr(load, "write_part", file_first)
    expired = expire_claims.expire("supervisor", NOW + timedelta(seconds=40))

    step = only(process, "one")
    assert (filed, expired.reset, expired.errors) == ([True], 0, 0)
    assert (step.state, step.failure_count, step.claim_id) == ("processing", 0, work.claim_id)
    assert step.reply == reply.to_wire()


@pytest.mark.postgresql
def test_a_verb_looks_again_when_an_agent_files_between_its_look_and_its_write(monkeypatch):
    (process,) = submit_some(1)
    (work,) = claim_steps.claim_due(TOY, anywhere(), NOW)
    reply = Reply(work.step_id, work.claim_id, 1, result={"n": 1})
    read, looks = load.lock, []

    def look_then_file(*args: Any, **kwargs: Any) -> Any:
        processes = read(*args, **kwargs)
        # Elsewhere, and committed: agents file replies without the process lock.
        file = partial(filed_replies.file, reply, "agent", NOW)
        looks.append(None if looks else race([file]))
        return processes

    monkeypatch.setattr(load, "lock", look_then_file)

    assert release.release_unfinished(anywhere().worker, "supervisor", now=NOW) == 0
    assert looks == [[True], None]
    assert only(process, "one").reply == reply.to_wire()


@pytest.mark.fault("F5")
def test_twins_of_one_submission_key_are_one_order():
    Product.objects.create(sku="SKU-1", name="Lamp", price="9.50", stock=100)
    customer = Customer("Ann", "ann@example.org", "Street 1")

    def place() -> Any:
        return place_order(customer, [Line("SKU-1", 2)], submission_key="key-1", source="api")

    results = race([place] * 8)

    assert [result for result in results if isinstance(result, Exception)] == []
    assert sorted(created for _, created in results) == [False] * 7 + [True]
    assert (Order.objects.count(), OrderLine.objects.count()) == (1, 1)
    # With the notice to the buyer: a process of one step.
    assert (Process.objects.count(), Step.objects.count()) == (2, 7)


@pytest.mark.postgresql
def test_a_buyer_never_waits_for_a_reservation_of_the_same_product():
    Product.objects.create(sku="SKU-1", name="Lamp", price="9.50", stock=100)
    customer = Customer("Ann", "ann@example.org", "Street 1")
    first, _ = place_order(customer, [Line("SKU-1", 1)], submission_key="a", source="api")
    reserved, placed = threading.Event(), threading.Event()

    def reserve() -> bool:
        payload = {"order": first.number, "lines": [{"sku": "SKU-1", "quantity": 1}]}
        call = Call("Order", "reserve_stock", "key", 1, payload, Deadline(30))
        with transaction.atomic():
            registry.agent("stock.reserve").run(call)
            reserved.set()
            return placed.wait(3)

    def place() -> Any:
        reserved.wait(10)
        placed_order = place_order(customer, [Line("SKU-1", 1)], submission_key="b", source="api")
        placed.set()
        return placed_order

    was_placed_meanwhile, _ = race([reserve, place])

    assert was_placed_meanwhile is True
