"""What may be claimed: holds, rates, forced breakers, and whose turn it is."""

from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from tests.integration.conftest import NOW, claim, only, start_and_lose
from tests.integration.test_store_claims import start
from tests.toyflow import agents as toy
from workers import scheduler
from workers.agent import shift
from workers.client.submission import submit
from workers.definitions.agent import Call
from workers.exceptions import StateError, Transient, Unavailable
from workers.http import post
from workers.models import Alert, Flow, Hold, Journal, Process, Step
from workers.protocol.messages import Bundle, Request
from workers.store.claims import claim_steps, unstarted
from workers.store.flow import flow_control, flow_settings, holds, spend_rate
from workers.testing import Wire, forget_duties, pass_time

pytestmark = pytest.mark.django_db


class TestHolds:
    @pytest.mark.parametrize(
        ("kind", "name", "states"),
        [
            ("everything", "", {"one": "pending", "two": "waiting"}),
            ("agent", "toy.alpha", {"one": "pending", "two": "waiting"}),
            ("agent", "toy.beta", {"one": "processed", "two": "pending"}),
            ("step", "one", {"one": "pending", "two": "waiting"}),
            ("step", "two", {"one": "processed", "two": "pending"}),
        ],
    )
    def test_what_is_held_is_not_claimed_until_it_is_lifted(
        self, wire: Wire, kind: str, name: str, states: dict[str, str]
    ) -> None:
        holds.hold(kind, name, actor="ann", reason="maintenance")
        process = submit("toy_line", subject="Toy 1", input={})
        wire.run_until_idle()
        assert wire.states(process) == states

        holds.lift(kind, name, actor="bob", reason="done")
        wire.run_until_idle()
        assert wire.states(process) == {"one": "processed", "two": "processed"}
        hold = Hold.objects.get()
        assert (hold.began_by, hold.ended_by, hold.reason) == ("ann", "bob", "maintenance")
        audit = Journal.objects.filter(process=None).order_by("id")
        assert [(row.event, row.actor) for row in audit] == [("held", "ann"), ("lifted", "bob")]

    def test_many_held_steps_do_not_hide_the_others_of_their_agent(self) -> None:
        for n in range(5):
            submit("toy_diamond", subject=f"Held {n}", input={}, now=NOW)
        other = submit("toy_line", subject="Other", input={}, now=NOW + timedelta(seconds=1))
        holds.hold("step", "top", actor="ann", reason="")

        later = NOW + timedelta(seconds=2)
        taken = claim_steps.claim_due({"toy.alpha"}, "scheduler", later)
        assert [one.process_id for one in taken] == [other.pk]

    def test_holding_twice_and_lifting_nothing_are_refused(self) -> None:
        with pytest.raises(StateError, match="not held"):
            holds.lift("agent", "toy.alpha", actor="ann", reason="")
        holds.hold("agent", "toy.alpha", actor="ann", reason="")
        with pytest.raises(StateError, match="held already"):
            holds.hold("agent", "toy.alpha", actor="bob", reason="")
        assert Hold.objects.get().began_by == "ann"
        assert Journal.objects.filter(process=None).count() == 1

    @pytest.mark.parametrize(("kind", "name"), [("shop", "x"), ("agent", ""), ("step", "")])
    def test_nothing_else_can_be_held(self, kind: str, name: str) -> None:
        with pytest.raises(StateError):
            holds.hold(kind, name, actor="ann", reason="")
        assert not Hold.objects.exists()


class TestRate:
    def submit(self, count: int) -> None:
        for n in range(count):
            submit("toy_parallel", subject=f"Toy {n}", input={}, now=NOW)

    def claim_and_start(self, at: datetime) -> int:
        """Claim what there is room for, and have its calls counted and started."""
        claims = claim_steps.claim_due({"toy.alpha"}, "scheduler", at)
        if claims:
            assert all(one.is_rated for one in claims)
            spend_rate.spend("toy.alpha", len(claims), at)
            start(claims, at)
        return len(claims)

    def test_calls_are_made_at_the_rate_and_no_faster(self) -> None:
        flow_settings.set_flow("toy.alpha", {"rate_per_second": 2}, actor="ann", reason="", now=NOW)
        self.submit(10)

        made = [self.claim_and_start(NOW + timedelta(seconds=tenth / 10)) for tenth in range(31)]

        assert made[0] == 1
        # Nine tenths of the rate, so that it is never more.
        assert sum(made) == 1 + 5
        assert max(made) == 1

    def test_a_tenth_of_a_second_s_worth_may_be_called_at_once(self) -> None:
        flow_settings.set_flow(
            "toy.alpha", {"rate_per_second": 20}, actor="ann", reason="", now=NOW
        )
        self.submit(30)

        made = [self.claim_and_start(NOW + timedelta(seconds=tenth / 10)) for tenth in range(11)]

        assert made[0] == 2
        # In a closed second at most the rate.
        assert 16 <= sum(made) <= 20

    def test_rate_claims_no_more_steps_while_claims_are_unstarted(self) -> None:
        """A worker that comes back finds one call's worth, and not all that it missed."""
        flow_settings.set_flow("toy.alpha", {"rate_per_second": 2}, actor="ann", reason="", now=NOW)
        self.submit(10)
        waiting = [
            one
            for second in range(60)
            for one in claim_steps.claim_due(
                {"toy.alpha"}, "scheduler", NOW + timedelta(seconds=second)
            )
        ]
        assert len(waiting) == 1
        back = NOW + timedelta(seconds=60)
        spend_rate.spend("toy.alpha", 1, back)
        start(waiting, back)

        made = [self.claim_and_start(back + timedelta(seconds=tenth / 10)) for tenth in range(10)]

        assert 1 + sum(made) <= 3

    def test_a_call_in_doubt_is_counted_twice_where_it_is_asked_after(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        counted: list[tuple[str, int]] = []
        monkeypatch.setattr(
            "workers.store.flow.spend_rate.spend", lambda *words: counted.append(words)
        )
        request = Request(1, uuid4(), 2, "pay", "Toy", "k", {}, in_doubt=True)
        for name, is_rated in (("toy.asker", True), ("toy.alpha", True), ("toy.alpha", False)):
            shift.perform(Bundle(name, 30, (request,), is_rated=is_rated))

        assert counted == [("toy.asker", 2), ("toy.alpha", 1)]

    def test_an_agent_with_a_rate_is_tried_once_a_call(self, wire: Wire) -> None:
        tries: list[int] = []

        def call_a_service(call: Any) -> dict[str, Any]:
            try:
                post("http://127.0.0.1:9/x", json={}, key="k", remaining=lambda: 20)
            except Unavailable as fault:
                tries.append(fault.tries)
                raise
            return {}

        toy.script["toy.alpha"] = call_a_service
        for rate in (2, None):
            flow_settings.set_flow("toy.alpha", {"rate_per_second": rate}, actor="a", reason="")
            submit("toy_line", subject="Toy", input={})
            wire.run_until_idle()

        assert tries == [1, 3]

    def test_a_message_that_was_lost_is_counted_when_it_comes_again(self) -> None:
        flow_settings.set_flow("toy.alpha", {"rate_per_second": 2}, actor="ann", reason="", now=NOW)
        self.submit(1)
        both = {"toy.alpha", "toy.beta"}
        assert len(claim_steps.claim_due(both, "scheduler", NOW)) == 2

        again = unstarted.lost("scheduler", NOW + timedelta(seconds=60))

        assert {one.agent: one.is_rated for one in again} == {"toy.alpha": True, "toy.beta": False}

    def test_of_an_agent_without_a_rate_nothing_is_counted(self) -> None:
        before = Flow.objects.values().get(agent="toy.alpha")

        spend_rate.spend("toy.alpha", 3, NOW)

        assert Flow.objects.values().get(agent="toy.alpha") == before

    def test_an_agent_without_a_rate_is_not_held_back(self) -> None:
        flow_settings.set_flow("toy.alpha", {"rate_per_second": 1}, actor="ann", reason="", now=NOW)
        self.submit(10)
        assert len(claim_steps.claim_due({"toy.beta"}, "scheduler", NOW)) == 10

    def test_a_rate_below_one_a_second_still_lets_one_through(self) -> None:
        flow_settings.set_flow(
            "toy.alpha", {"rate_per_second": 0.1}, actor="ann", reason="", now=NOW
        )
        self.submit(3)
        made = [
            self.claim_and_start(NOW + timedelta(seconds=seconds))
            for seconds in (0, 5, 9, 10, 11, 20)
        ]
        assert made == [1, 0, 0, 0, 0, 1]

    def test_settling_spends_of_the_same_rate(self, wire: Wire) -> None:
        flow_settings.set_flow("toy.alpha", {"rate_per_second": 1}, actor="ann", reason="")
        for n in range(3):
            submit("toy_diamond", subject=f"Toy {n}", input={})
        wire.run_until_idle()
        assert len(toy.calls["toy.alpha"]) <= 2

    def test_the_scheduler_says_when_to_look_again(self) -> None:
        flow_settings.set_flow("toy.alpha", {"rate_per_second": 2}, actor="ann", reason="", now=NOW)
        self.submit(10)
        (claim,) = claim_steps.claim_due({"toy.alpha"}, "scheduler", NOW)
        # No time brings another token before that one is started.
        assert flow_control.seconds_to_next(NOW) == pytest.approx(0.5 / 0.9)
        assert flow_control.seconds_to_next(NOW + timedelta(seconds=5)) == pytest.approx(0.5 / 0.9)
        spend_rate.spend("toy.alpha", 1, NOW)
        start([claim], NOW)
        assert flow_control.seconds_to_next(NOW + timedelta(seconds=0.2)) == pytest.approx(
            0.5 / 0.9 - 0.2
        )
        # With a token left it is not the rate that anything waits for.
        assert flow_control.seconds_to_next(NOW + timedelta(seconds=5)) is None

    @pytest.mark.parametrize("cause", ["held", "full"])
    def test_what_waits_for_something_else_is_not_looked_at_again_at_once(
        self, wire: Wire, monkeypatch: pytest.MonkeyPatch, cause: str
    ) -> None:
        asked: list[float] = []
        monkeypatch.setattr("workers.wire.dispatch.wake_scheduler_after", asked.append)
        flow_settings.set_flow("toy.alpha", {"rate_per_second": 100}, actor="ann", reason="")
        if cause == "held":
            holds.hold("agent", "toy.alpha", actor="ann", reason="")
        else:
            Flow.objects.filter(agent="toy.alpha").update(window=1)
        for n in range(3):
            submit("toy_line", subject=f"Toy {n}", input={})
        for _ in range(3):
            scheduler.advance()
        assert asked == []

    def test_without_a_rate_nothing_is_to_be_looked_at_again(self) -> None:
        self.submit(1)
        assert flow_control.seconds_to_next(NOW) is None


class TestForcedBreaker:
    def test_forced_open_nothing_is_claimed(self) -> None:
        submit("toy_line", subject="Toy 1", input={}, now=NOW)
        flow_settings.set_flow("toy.alpha", {"forced": "open"}, actor="ann", reason="", now=NOW)
        assert claim() == []
        flow_settings.set_flow("toy.alpha", {"forced": None}, actor="ann", reason="", now=NOW)
        assert len(claim()) == 1

    def test_forced_closed_steps_go_through_whatever_the_breaker_says(self) -> None:
        submit("toy_line", subject="Toy 1", input={}, now=NOW)
        Flow.objects.filter(agent="toy.alpha").update(
            opened_at=NOW, open_until=NOW + timedelta(hours=1), unavailable_streak=10
        )
        assert claim() == []
        flow_settings.set_flow("toy.alpha", {"forced": "closed"}, actor="ann", reason="", now=NOW)
        assert len(claim()) == 1

    def test_a_forced_breaker_stays_forced_when_answers_come(self, wire: Wire) -> None:
        flow_settings.set_flow("toy.alpha", {"forced": "closed"}, actor="ann", reason="")
        Flow.objects.filter(agent="toy.alpha").update(unavailable_streak=3)
        submit("toy_line", subject="Toy 1", input={})
        wire.run_until_idle()
        row = Flow.objects.get(agent="toy.alpha")
        assert (row.forced, row.unavailable_streak) == ("closed", 0)


class TestSetting:
    def test_what_changed_is_returned_and_journalled(self) -> None:
        found = flow_settings.set_flow(
            "toy.alpha", {"window": 7, "forced": None}, actor="ann", reason="they asked"
        )
        assert found == {"window": [400, 7]}
        row = Journal.objects.get(process=None)
        assert row.detail == {"agent": "toy.alpha", "reason": "they asked", "changes": found}
        assert Flow.objects.get(agent="toy.alpha").window == 7

    @pytest.mark.parametrize(
        "changes",
        [
            {"window": -1},
            {"window": 1.5},
            {"window": True},
            {"window": 100_001},
            {"rate_per_second": 0},
            {"rate_per_second": -2},
            {"rate_per_second": "fast"},
            {"rate_per_second": float("nan")},
            {"forced": "ajar"},
            {"agent": "x"},
        ],
        ids=str,
    )
    def test_a_value_that_cannot_be_is_refused(self, changes: dict[str, Any]) -> None:
        before = list(Flow.objects.values())
        with pytest.raises(StateError):
            flow_settings.set_flow("toy.alpha", changes, actor="ann", reason="")
        assert list(Flow.objects.values()) == before
        assert not Journal.objects.exists()

    def test_flow_setting_of_unknown_agent_is_refused(self) -> None:
        with pytest.raises(StateError, match="no flow row"):
            flow_settings.set_flow("toy.omega", {"window": 1}, actor="ann", reason="")


class TestTurns:
    def test_one_lanes_many_do_not_hold_up_anothers_one(self, settings: Any) -> None:
        settings.SAS_WINDOW = 3
        for n in range(50):
            submit("toy_line", subject=f"Big {n}", input={}, lane="big", now=NOW)
        single = submit(
            "toy_line", subject="Small", input={}, lane="small", now=NOW + timedelta(seconds=2)
        )
        later = NOW + timedelta(seconds=3)
        Flow.objects.filter(agent="toy.alpha").update(window=5)
        taken = [one.process_id for one in claim_steps.claim_due({"toy.alpha"}, "scheduler", later)]
        assert single.pk in taken
        assert len(taken) == 5

    def test_without_lanes_who_came_first_goes_first(self) -> None:
        found = [submit("toy_line", subject=f"Toy {n}", input={}, now=NOW).pk for n in range(5)]
        assert [one.process_id for one in claim()] == found

    def test_a_lane_waits_its_turn_and_not_for_ever(self) -> None:
        """The tenth of a lane comes before others that were submitted ten seconds later."""
        tenth = [
            submit("toy_line", subject=f"Big {n}", input={}, lane="big", now=NOW) for n in range(10)
        ][-1]
        other = submit(
            "toy_line", subject="Late", input={}, lane="late", now=NOW + timedelta(seconds=10)
        )
        assert tenth.turn < other.turn

    def test_a_lane_that_is_served_in_time_is_not_set_back(self, wire: Wire) -> None:
        """What was done already is no debt: only what is open stands in the way."""
        for n in range(20):
            at = NOW + timedelta(seconds=n / 10)
            busy = submit("toy_line", subject=f"Busy {n}", input={}, lane="busy", now=at)
            assert busy.turn == at
            Process.objects.filter(pk=busy.pk).update(state="processed", finished_at=at)

    def test_a_lane_keeps_its_order_while_its_backlog_drains(self) -> None:
        first = [
            submit("toy_line", subject=f"Big {n}", input={}, lane="big", now=NOW) for n in range(10)
        ]
        done = [process.pk for process in first[:8]]
        Process.objects.filter(pk__in=done).update(state="processed", finished_at=NOW)
        last = submit("toy_line", subject="Last", input={}, lane="big", now=NOW)
        assert last.turn >= first[-1].turn
        later = NOW + timedelta(seconds=60)
        taken = claim_steps.claim_due({"toy.alpha"}, "scheduler", later)
        open_ones = [one.process_id for one in taken if one.process_id not in done]
        assert open_ones == [first[8].pk, first[9].pk, last.pk]

    def test_a_priority_below_zero_is_refused(self) -> None:
        with pytest.raises(ValueError, match="must be 0 to 100, got -1"):
            submit("toy_line", subject="Last", input={}, priority=-1)
        assert not Process.objects.exists()

    def test_priority_is_a_head_start(self) -> None:
        usual = submit("toy_line", subject="Usual", input={}, now=NOW)
        urgent = submit(
            "toy_line", subject="Urgent", input={}, priority=1, now=NOW + timedelta(minutes=59)
        )
        assert urgent.turn < usual.turn
        assert urgent.turn > usual.turn - timedelta(minutes=2)
        taken = claim_steps.claim_due({"toy.alpha"}, "scheduler", NOW + timedelta(hours=1))
        assert [one.process_id for one in taken] == [urgent.pk, usual.pk]

    def test_every_step_has_its_processes_turn(self, wire: Wire) -> None:
        process = submit("toy_undoable", subject="Toy 1", input={}, lane="a", priority=2)
        assert set(Step.objects.values_list("turn", flat=True)) == {process.turn}


class TestOutageAndOverload:
    """Neither is a failure: every process ends by itself, none in error."""

    def test_ten_minutes_of_a_dead_service(self, wire: Wire) -> None:
        def away(call: Call) -> dict[str, Any]:
            raise Unavailable("http_503", "away")

        toy.script["toy.alpha"] = away
        for n in range(30):
            submit("toy_line", subject=f"Toy {n}", input={})
        for _ in range(20):
            wire.run_until_idle()
            pass_time(30)
            Flow.objects.update(open_until=None, opened_at=None)
            forget_duties()
        assert set(Process.objects.values_list("state", flat=True)) == {"processing"}
        toy.script.clear()
        for _ in range(20):
            pass_time(300)
            Flow.objects.update(open_until=None, opened_at=None)
            wire.run_until_idle()

        assert set(Process.objects.values_list("state", flat=True)) == {"processed"}
        assert set(Step.objects.values_list("failure_count", flat=True)) == {0}

    def test_ten_times_what_fits_waits_and_fails_nothing(self, wire: Wire) -> None:
        Flow.objects.update(window=3)
        for n in range(60):
            submit("toy_line", subject=f"Toy {n}", input={})
        wire.run_until_idle()

        assert set(Process.objects.values_list("state", flat=True)) == {"processed"}
        assert set(Step.objects.values_list("failure_count", "lost_count")) == {(0, 0)}
        assert Alert.objects.count() == 0

    def test_a_step_whose_worker_dies_again_and_again_ends_by_the_count_in_the_row(
        self, wire: Wire
    ) -> None:
        def die(call: Call) -> dict[str, Any]:
            raise Transient("never", "not reached")

        toy.script["toy.alpha"] = die
        process = submit("toy_line", subject="Toy 1", input={})
        for _ in range(3):
            start_and_lose(wire)
        wire.run_until_idle()

        step = only(process, "one")
        assert (step.state, step.failure_count, step.attempt) == ("error", 3, 3)
        assert step.fault["code"] == "expired"
