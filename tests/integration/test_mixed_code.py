"""Workers of two codes side by side: each claims what its own knows, and leaves the rest."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.test import override_settings
from msgspec import structs

from tests.integration.conftest import NOW, begin, only, reread
from tests.toyflow import agents as toy
from workers import scheduler
from workers.agent import shift
from workers.client.submission import submit
from workers.definitions import known
from workers.definitions.known import KnownDefinitions
from workers.models import Alert, Flow, Process, Step, Worker
from workers.runtime import worker_pulse
from workers.scheduler import waking
from workers.store import live_workers, worker_alerts
from workers.store.claims import claim_steps, find_work
from workers.store.claims.find_work import WorkForOthers
from workers.store.db import dialect
from workers.testing.agent_processes import CALL, REPLY
from workers.testing.agent_processes import room as anywhere
from workers.wire import dispatch

#: A version that is not in this code.
V99 = KnownDefinitions(versions=frozenset({"toy_line:99", "toy_conditional:99", "toy_heard:99"}))


def alive(knows: KnownDefinitions, run: str = "new", queue: str = "sas.agents", **at: Any) -> None:
    """Have a worker report that knows what this code does, and more or less."""
    live_workers.report(
        run,
        f"celery-{run}@host",
        [queue],
        2,
        code=known.code_of(knows),
        known=knows.to_document(),
        **at,
    )


def of_99(workflow: str = "toy_line", **given: Any) -> Process:
    process = submit(workflow, subject="Toy 99", input=given, now=NOW)
    Process.objects.filter(pk=process.pk).update(version=99)
    return process


@pytest.fixture
def behind() -> Iterator[None]:
    """Have this worker know that another one's code has more."""
    worker_pulse.set_behind(True)
    yield
    worker_pulse.set_behind(False)


@pytest.fixture
def woken(monkeypatch) -> list[str]:
    """Return who was woken, after how long."""
    made: list[str] = []
    monkeypatch.setattr(
        dispatch, "wake_scheduler_after", lambda seconds: made.append(f"nudge {seconds}")
    )
    monkeypatch.setattr(
        dispatch, "wake_agents_after", lambda queue, seconds: made.append(f"{queue} {seconds}")
    )
    return made


class TestClaims:
    @override_settings(SAS_CLAIM_BATCH=2)
    def test_what_is_not_known_keeps_its_turn_and_holds_up_none_behind(self, wire):
        unknown = [of_99() for _ in range(5)]
        process = submit("toy_line", subject="Toy 1", input={}, now=NOW)
        before = list(Step.objects.filter(process__in=unknown).order_by("pk").values())

        taken = claim_steps.claim_due({"toy.alpha"}, anywhere(), NOW)

        assert [claim.process_id for claim in taken] == [process.pk]
        assert list(Step.objects.filter(process__in=unknown).order_by("pk").values()) == before
        assert not Alert.objects.exists()

    def test_step_made_ready_by_code_that_lacks_its_version_stays_pending(self, wire):
        process = submit("toy_line", subject="Toy 1", input={})
        begin(wire)
        wire.deliver_all(CALL)
        Process.objects.update(version=99)

        wire.deliver_all(REPLY)

        two = only(process, "two")
        assert (two.state, two.attempt, two.failure_count) == ("pending", 0, 0)
        assert wire.of(CALL) == []
        Process.objects.update(version=1)
        wire.run_until_idle()
        assert reread(process).state == "processed"

    def test_an_agent_that_is_not_known_is_not_claimed_for(self, wire):
        process = submit("toy_line", subject="Toy 1", input={})
        Step.objects.filter(process=process, name="two").update(agent="toy.new")
        Flow.objects.create(agent="toy.new", window=5)

        wire.run_until_idle()

        two = only(process, "two")
        assert (two.state, two.attempt) == ("pending", 0)

    def test_a_claim_whose_version_is_not_known_after_all_is_released_at_once(self, wire):
        process = submit("toy_line", subject="Toy 1", input={})
        claims = claim_steps.claim_due({"toy.alpha"}, anywhere())
        Process.objects.update(version=99)

        assert scheduler.requests_of([structs.replace(one, owner=None) for one in claims]) == []

        one = only(process, "one")
        assert (one.state, one.claim_id, one.failure_count) == ("pending", None, 0)
        assert one.not_before is not None
        assert one.not_before <= dialect.read_clock()
        assert not Alert.objects.filter(code="unknown_definition").exists()


class TestPassingOn:
    def test_a_due_step_that_only_another_worker_knows_is_passed_on(self, wire):
        of_99()

        assert find_work.left_to_others(NOW) == WorkForOthers()
        alive(V99, now=NOW)
        assert find_work.left_to_others(NOW) == WorkForOthers(frozenset({"sas.agents"}), False)

    def test_nothing_is_passed_on_where_all_that_is_due_is_known(self, wire):
        submit("toy_line", subject="Toy 1", input={}, now=NOW)
        alive(V99, now=NOW)

        assert find_work.left_to_others(NOW) == WorkForOthers()

    def test_an_agent_that_only_another_worker_knows_is_passed_on(self, wire):
        process = submit("toy_line", subject="Toy 1", input={}, now=NOW)
        Step.objects.filter(process=process, name="one").update(agent="toy.new")
        Flow.objects.create(agent="toy.new", window=5)
        alive(KnownDefinitions({"toy.new": "fresh"}), now=NOW)

        assert find_work.left_to_others(NOW) == WorkForOthers(frozenset({"fresh"}), False)

    @pytest.mark.usefixtures("behind")
    def test_a_look_wakes_others_for_what_it_leaves(self, wire, woken):
        # A poll, which passes on for itself, is not due again.
        scheduler.advance()
        of_99()
        alive(V99)

        scheduler.advance()

        assert woken == [f"sas.agents {waking.PASS_ON_SECONDS}"]

    @pytest.mark.usefixtures("behind")
    def test_a_settlement_wakes_others_for_what_it_leaves(self, wire, woken):
        submit("toy_line", subject="Toy 1", input={})
        begin(wire)
        wire.deliver_all(CALL)
        Process.objects.update(version=99)
        alive(V99)

        wire.deliver_all(REPLY)

        assert set(woken) == {f"sas.agents {waking.PASS_ON_SECONDS}"}

    @pytest.mark.usefixtures("behind")
    def test_a_shift_wakes_others_for_what_it_leaves(self, wire, woken):
        of_99()
        alive(V99)

        shift.take("sas.agents")

        assert woken == [f"sas.agents {waking.PASS_ON_SECONDS}"]

    def test_who_is_not_behind_asks_nothing(self, wire, woken):
        of_99()
        alive(V99)

        scheduler.advance()

        assert woken == []


class TestDecisions:
    def test_a_condition_is_left_to_a_live_worker_that_knows_it(self, wire):
        toy.script["toy.beta"] = lambda call: {"size": 50}
        process = submit("toy_conditional", subject="Toy 1", input={"maybe": False})
        begin(wire)
        wire.deliver_all(CALL)
        Process.objects.update(version=99)
        alive(V99)
        wire.run_until_idle()

        process.refresh_from_db()
        assert process.needs_decision
        assert wire.states(process)["if_big"] == "waiting"
        assert not Alert.objects.exists()
        assert find_work.flagged(10) == [process.pk]
        assert find_work.flagged(10, live_workers.known_elsewhere().versions) == []
        assert find_work.left_to_others() == WorkForOthers(frozenset(), True)

        Process.objects.update(version=1)
        wire.run_until_idle()
        process.refresh_from_db()
        assert (process.state, process.needs_decision) == ("processed", False)

    def test_an_end_is_left_to_a_live_worker_that_knows_it(self, wire):
        process = submit("toy_heard", subject="Toy 1", input={})
        steps = Step.objects.filter(process=process).exclude(state="processed")
        for _ in range(steps.count()):
            begin(wire)
            wire.deliver_all(CALL)
            if steps.count() == 1:
                Process.objects.update(version=99)
                alive(V99)
            wire.deliver_all(REPLY)
        process.refresh_from_db()
        assert process.needs_decision
        assert process.finished_at is None
        assert not Alert.objects.exists()

        Process.objects.update(version=1)
        wire.run_until_idle()
        assert reread(process).state == "processed"


class TestTelling:
    @pytest.mark.parametrize(("seconds", "told"), [(29, 0), (31, 1)])
    def test_what_no_live_worker_knows_is_told_of_after_a_while(self, wire, seconds, told):
        of_99()

        assert worker_alerts.tell_unknown_definitions(NOW + timedelta(seconds=seconds)) == told
        assert Alert.objects.filter(cause="unknown_definition:workflow:toy_line:99").count() == told

    def test_what_a_live_worker_knows_is_not_told_of(self, wire):
        of_99()
        later = NOW + timedelta(seconds=60)
        alive(V99, now=later)

        assert worker_alerts.tell_unknown_definitions(later) == 0

    def test_an_agent_that_no_live_worker_knows_is_told_of(self, wire):
        process = submit("toy_line", subject="Toy 1", input={}, now=NOW)
        Step.objects.filter(process=process, name="one").update(agent="toy.new")
        Flow.objects.create(agent="toy.new", window=5)

        worker_alerts.tell_unknown_definitions(NOW + timedelta(seconds=60))

        assert Alert.objects.get().cause == "unknown_definition:agent:toy.new"

    def test_nothing_is_told_while_a_worker_does_not_say_what_it_knows(self, wire):
        of_99()
        later = NOW + timedelta(seconds=60)
        live_workers.report("old", "celery-old@host", ["sas.agents"], 1, later)

        assert worker_alerts.tell_unknown_definitions(later) == 0

    def test_the_poll_tells(self, wire):
        of_99()

        scheduler.advance(NOW + timedelta(seconds=60))

        assert Alert.objects.filter(code="unknown_definition").exists()


def test_what_a_worker_knows_is_written_once(wire):
    alive(V99)
    alive(KnownDefinitions(versions=frozenset({"other:1"})))

    row = Worker.objects.get()
    assert row.code == known.code_of(V99)
    assert KnownDefinitions.of_document(row.known) == V99
