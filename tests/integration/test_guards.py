"""Guards that no other test holds: each of these is red without its one (``tests.mutants``)."""

import threading
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from celery import current_app
from django.conf import settings

from orders.models import Product, Reservation
from orders.submission import Customer, Line, place_order
from tests.integration.conftest import NOW, claim, only
from tests.toyflow import agents as toy
from tests.unit.build import a_step
from workers.agent import runner
from workers.agent.call_pool import Work
from workers.client.submission import submit
from workers.definitions import registry
from workers.definitions.agent import Call, Deadline
from workers.models import Flow, Process, Sink, Step
from workers.notify import relay, threads
from workers.protocol.messages import Reply, Request
from workers.rules.rows import NewSink
from workers.runtime.failpoints import durable
from workers.store import leases, sinks
from workers.store.expire import expire_claims
from workers.store.flow import flow_settings, holds
from workers.store.settle import settle_replies
from workers.testing.agent_processes import room as anywhere

LATER = NOW + timedelta(seconds=10)
DEFERRAL = {"seconds": 60.0, "question": "?", "permission": "", "escalate_seconds": None}


def line(number: int = 1, workflow: str = "toy_line") -> Process:
    return submit(workflow, subject=f"Toy {number}", input={}, now=NOW)


class TestClaims:
    def test_a_step_whose_reply_is_filed_is_not_expired(self):
        over = a_step(complete_by=NOW - timedelta(seconds=5))

        assert expire_claims.is_expired(over, NOW)
        assert not expire_claims.is_expired(replace(over, is_filed=True), NOW)


class TestRoom:
    def test_a_step_that_begins_to_wait_makes_room_at_once(self):
        Flow.objects.filter(agent="toy.gamma").update(window=1)
        first, second = line(1, "toy_narrow"), line(2, "toy_narrow")
        (taken,) = claim()
        deferral = Reply(taken.step_id, taken.claim_id, 1, deferral=DEFERRAL)

        settled = settle_replies.apply([deferral], "scheduler", NOW, own_room=anywhere())

        assert only(first, "only").deferral is not None
        assert settled.waited_for == {"toy.gamma"}
        assert [one.process_id for one in claim()] == [second.pk]

    def test_a_step_that_had_its_room_already_makes_none_twice(self):
        Flow.objects.filter(agent="toy.gamma").update(window=1)
        line(1, "toy_narrow")
        (taken,) = claim()
        settle_replies.apply([Reply(taken.step_id, taken.claim_id, 1, deferral=DEFERRAL)], "s", NOW)
        line(2, "toy_narrow")
        claim()
        line(3, "toy_narrow")

        result = Reply(taken.step_id, taken.claim_id, 1, result={})

        settled = settle_replies.apply([result], "scheduler", NOW, own_room=anywhere())

        assert (settled.claims, settled.waited_for) == ([], set())

    def test_a_rate_that_is_set_anew_begins_with_a_full_bucket(self):
        told = {"actor": "ann", "reason": ""}
        flow_settings.set_flow("toy.alpha", {"rate_per_second": 20}, now=NOW, **told)
        for number in range(7):
            line(number)
        taken = claim()
        assert (len(taken), claim()) == (1, [])
        flow_settings.set_flow("toy.alpha", {"rate_per_second": 40}, now=NOW, **told)

        assert len(claim()) == 2

    def test_a_step_that_becomes_ready_is_not_claimed_while_it_is_held(self):
        process = line()
        taken = claim()
        holds.hold("step", "two", actor="ann", reason="", now=NOW)

        settled = settle_replies.apply(
            [Reply(taken[0].step_id, taken[0].claim_id, 1, result={})], "s", own_room=anywhere()
        )

        assert settled.claims == []
        assert only(process, "two").state == "pending"

    def test_one_supervisor_has_the_lease_and_the_next_when_it_is_over(self):
        assert leases.acquire(leases.SWEEP, "one", 15, NOW)
        assert not leases.acquire(leases.SWEEP, "two", 15, LATER)
        assert leases.acquire(leases.SWEEP, "two", 15, NOW + timedelta(seconds=16))


class TestAlone:
    @pytest.mark.parametrize(
        ("code", "failures", "are_alone"),
        [
            ("expired", 2, [True]),
            ("worker_died", 2, [True]),
            # One more silence would not be its last; and whoever answered has killed nobody.
            ("worker_died", 1, [False] * 4),
            ("http_500", 2, [False] * 4),
        ],
    )
    def test_what_may_kill_its_worker_is_taken_alone(self, code, failures, are_alone):
        for number in range(4):
            line(number)
        fault = {"kind": "expired", "code": code, "message": "m"}
        Step.objects.filter(name="one").update(failure_count=failures, fault=fault)

        assert [one.is_alone for one in claim()] == are_alone


class TestAgents:
    def test_a_result_that_comes_after_the_deadline_is_no_reply(self):
        deadline = Countdown(30)

        def outlast(call: Call) -> dict[str, Any]:
            deadline.left = 0.0
            return {}

        toy.script["toy.alpha"] = outlast
        request = Request(1, uuid4(), 1, "one", "Toy 1", "key", {})

        assert runner.call(Work(registry.agent("toy.alpha"), request, deadline)) is None


class Countdown(Deadline):
    """A deadline that a test says when to pass."""

    left = 1.0

    def remaining(self) -> float:
        return self.left


class TestTelling:
    def test_a_relay_that_froze_ends_no_claim_of_another(self):
        submit("toy_told", subject="Toy 1", input={"id": 1}, sinks=[NewSink("queue", "q")], now=NOW)
        (frozen,) = sinks.claim("queue", 1, 60, now=NOW)
        (other,) = sinks.claim("queue", 1, 60, now=NOW + timedelta(seconds=61))

        sinks.put_off(frozen, 0, NOW)
        assert sinks.give_up(frozen, {"code": "late", "params": {}}) is False

        sink = Sink.objects.get()
        assert (sink.next_try_at, sink.state) == (other.until, "open")

    def test_a_relay_thread_runs_its_relay_when_woken(self):
        has_run = threading.Event()

        class Relay(relay.Relay):
            def run(self) -> int:
                has_run.set()
                return 0

        limits = {"per_owner": 1, "per_server": 1, "per_place": 1}
        one = threads.RelayThread(Relay("queue", print, slots=1, depth=1, **limits))
        one.wake_up()

        assert has_run.wait(threads.IDLE_SECONDS / 2)


def test_an_order_s_lines_are_taken_out_of_stock_once():
    product = Product.objects.create(sku="SKU-1", name="Lamp", price="9.50", stock=10)
    customer = Customer("Ann", "ann@example.org", "Street 1")
    order, _ = place_order(customer, [Line("SKU-1", 2)], submission_key="k", source="shop")
    payload: dict[str, Any] = {"order": order.number, "lines": [{"sku": "SKU-1", "quantity": 2}]}

    for key in ("one", "two"):
        call = Call("Order", "reserve_stock", key, 1, payload, Deadline(30))
        with durable("runner.perform_local"):
            registry.agent("stock.reserve").run(call)

    product.refresh_from_db()
    assert (product.stock, Reservation.objects.count()) == (8, 1)


class TestSettings:
    def test_a_mail_server_that_hangs_ends_before_the_shortest_timeout_of_a_step(self):
        assert 0 < settings.EMAIL_TIMEOUT <= 10

    def test_a_lost_connection_to_the_broker_cancels_no_call(self):
        assert current_app.conf.worker_cancel_long_running_tasks_on_connection_loss is False
