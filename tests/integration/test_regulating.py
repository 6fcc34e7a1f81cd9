"""What may be claimed: holds, rates, forced breakers, and whose turn it is."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.integration.conftest import NOW, claim, only, start_and_lose
from tests.toyflow import agents as toy
from workers.client.submission import submit
from workers.definitions.agent import Call
from workers.exceptions import StateError, Transient, Unavailable
from workers.http import post
from workers.models import Alert, Flow, Hold, Journal, Process, Step
from workers.store.claims import claim_steps
from workers.store.claims.claim_steps import Room
from workers.store.flow import flow_settings, holds
from workers.testing.agent_processes import room as anywhere


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
    def test_what_is_held_is_not_claimed_until_it_is_lifted(self, wire, kind, name, states):
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

    def test_many_held_steps_do_not_hide_the_others_of_their_agent(self):
        for n in range(5):
            submit("toy_diamond", subject=f"Held {n}", input={}, now=NOW)
        other = submit("toy_line", subject="Other", input={}, now=NOW + timedelta(seconds=1))
        holds.hold("step", "top", actor="ann", reason="")

        later = NOW + timedelta(seconds=2)
        taken = claim_steps.claim_due({"toy.alpha"}, anywhere(), later)
        assert [one.process_id for one in taken] == [other.pk]

    def test_holding_twice_and_lifting_nothing_are_refused(self):
        with pytest.raises(StateError, match="not held"):
            holds.lift("agent", "toy.alpha", actor="ann", reason="")
        holds.hold("agent", "toy.alpha", actor="ann", reason="")
        with pytest.raises(StateError, match="held already"):
            holds.hold("agent", "toy.alpha", actor="bob", reason="")
        assert Hold.objects.get().began_by == "ann"
        assert Journal.objects.filter(process=None).count() == 1

    @pytest.mark.parametrize(("kind", "name"), [("shop", "x"), ("agent", ""), ("step", "")])
    def test_nothing_else_can_be_held(self, kind, name):
        with pytest.raises(StateError):
            holds.hold(kind, name, actor="ann", reason="")
        assert not Hold.objects.exists()


class TestRate:
    def submit(self, count: int) -> None:
        for n in range(count):
            submit("toy_parallel", subject=f"Toy {n}", input={}, now=NOW)

    def claim(self, at: datetime) -> int:
        """Claim what there is room for; return how much."""
        claims = claim_steps.claim_due({"toy.alpha"}, anywhere(), at)
        assert all(one.is_rated for one in claims)
        return len(claims)

    def test_calls_are_made_at_the_rate_and_no_faster(self):
        flow_settings.set_flow("toy.alpha", {"rate_per_second": 2}, actor="ann", reason="", now=NOW)
        self.submit(10)

        made = [self.claim(NOW + timedelta(seconds=tenth / 10)) for tenth in range(31)]

        assert made[0] == 1
        # Nineteen twentieths of the rate, so that it is never more.
        assert sum(made) == 1 + 5
        assert max(made) == 1

    def test_one_call_and_a_twenty_fifth_of_a_second_s_worth_may_be_made_at_once(self):
        flow_settings.set_flow(
            "toy.alpha", {"rate_per_second": 50}, actor="ann", reason="", now=NOW
        )
        self.submit(60)

        made = [self.claim(NOW + timedelta(seconds=look / 20)) for look in range(21)]

        assert made[0] == 3
        # In a closed second at most the rate.
        assert 45 <= sum(made) <= 50

    def test_who_comes_back_finds_one_call_s_worth_and_not_all_that_was_missed(self):
        flow_settings.set_flow("toy.alpha", {"rate_per_second": 2}, actor="ann", reason="", now=NOW)
        self.submit(10)
        assert self.claim(NOW) == 1
        back = NOW + timedelta(seconds=60)

        made = [self.claim(back + timedelta(seconds=tenth / 10)) for tenth in range(10)]

        assert made[0] == 1
        assert sum(made) == 2

    @pytest.mark.parametrize(
        ("workflow", "agent", "tokens"),
        [("toy_queried", "toy.asker", 3), ("toy_line", "toy.alpha", 4)],
    )
    def test_a_call_in_doubt_is_counted_twice_where_it_is_asked_after(
        self, workflow, agent, tokens
    ):
        # Five calls may be made at once.
        flow_settings.set_flow(agent, {"rate_per_second": 100}, actor="ann", reason="", now=NOW)
        submit(workflow, subject="Toy", input={}, now=NOW)
        Step.objects.filter(agent=agent).update(is_in_doubt=True)

        (taken,) = claim_steps.claim_due({agent}, anywhere(), NOW)

        assert taken.in_doubt
        assert Flow.objects.get(agent=agent).tokens == pytest.approx(tokens)

    def test_an_agent_with_a_rate_is_tried_once_a_call(self, wire):
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

    def test_an_agent_without_a_rate_is_not_held_back_and_not_counted(self):
        flow_settings.set_flow("toy.alpha", {"rate_per_second": 1}, actor="ann", reason="", now=NOW)
        before = Flow.objects.values().get(agent="toy.beta")
        self.submit(10)
        taken = claim_steps.claim_due({"toy.beta"}, anywhere(), NOW)
        assert [one.is_rated for one in taken] == [False] * 10
        assert Flow.objects.values().get(agent="toy.beta") == before

    def test_a_rate_below_one_a_second_still_lets_one_through(self):
        flow_settings.set_flow(
            "toy.alpha", {"rate_per_second": 0.1}, actor="ann", reason="", now=NOW
        )
        self.submit(3)
        made = [self.claim(NOW + timedelta(seconds=seconds)) for seconds in (0, 5, 9, 10, 11, 20)]
        assert made == [1, 0, 0, 0, 1, 0]

    def test_settling_spends_of_the_same_rate(self, wire):
        flow_settings.set_flow("toy.alpha", {"rate_per_second": 1}, actor="ann", reason="")
        for n in range(3):
            submit("toy_diamond", subject=f"Toy {n}", input={})
        wire.run_until_idle()
        assert len(toy.calls["toy.alpha"]) <= 2

    def test_a_claim_says_when_the_next_may_be_made(self):
        flow_settings.set_flow("toy.alpha", {"rate_per_second": 2}, actor="ann", reason="", now=NOW)
        self.submit(10)

        # It is allowed 1.08 at once, and 1.9 a second.
        assert self.seconds_to_next(NOW) == pytest.approx(0.92 / 1.9)
        assert self.seconds_to_next(NOW + timedelta(seconds=0.2)) == pytest.approx(0.92 / 1.9 - 0.2)

    @pytest.mark.parametrize("cause", ["held", "window", "process"])
    def test_what_waits_for_something_else_waits_for_no_token(self, cause):
        flow_settings.set_flow(
            "toy.alpha", {"rate_per_second": 100}, actor="ann", reason="", now=NOW
        )
        if cause == "held":
            holds.hold("agent", "toy.alpha", actor="ann", reason="", now=NOW)
        elif cause == "window":
            Flow.objects.filter(agent="toy.alpha").update(window=1)
        self.submit(3)

        assert self.seconds_to_next(NOW, most=1) is None

    def seconds_to_next(self, at: datetime, most: int = 9) -> float | None:
        here = Room("agent@test", lambda agent: most)
        claim_steps.claim_due({"toy.alpha"}, here, at)
        return here.rate_seconds

    def test_without_a_rate_nothing_is_to_be_looked_at_again(self):
        self.submit(1)
        assert self.seconds_to_next(NOW) is None


class TestForcedBreaker:
    def test_forced_open_nothing_is_claimed(self):
        submit("toy_line", subject="Toy 1", input={}, now=NOW)
        flow_settings.set_flow("toy.alpha", {"forced": "open"}, actor="ann", reason="", now=NOW)
        assert claim() == []
        flow_settings.set_flow("toy.alpha", {"forced": None}, actor="ann", reason="", now=NOW)
        assert len(claim()) == 1

    def test_forced_closed_steps_go_through_whatever_the_breaker_says(self):
        submit("toy_line", subject="Toy 1", input={}, now=NOW)
        Flow.objects.filter(agent="toy.alpha").update(
            opened_at=NOW, open_until=NOW + timedelta(hours=1), unavailable_streak=10
        )
        assert claim() == []
        flow_settings.set_flow("toy.alpha", {"forced": "closed"}, actor="ann", reason="", now=NOW)
        assert len(claim()) == 1

    def test_a_forced_breaker_stays_forced_when_answers_come(self, wire):
        flow_settings.set_flow("toy.alpha", {"forced": "closed"}, actor="ann", reason="")
        Flow.objects.filter(agent="toy.alpha").update(unavailable_streak=3)
        submit("toy_line", subject="Toy 1", input={})
        wire.run_until_idle()
        row = Flow.objects.get(agent="toy.alpha")
        assert (row.forced, row.unavailable_streak) == ("closed", 0)


class TestSetting:
    def test_what_changed_is_returned_and_journalled(self):
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
    def test_a_value_that_cannot_be_is_refused(self, changes):
        before = list(Flow.objects.values())
        with pytest.raises(StateError):
            flow_settings.set_flow("toy.alpha", changes, actor="ann", reason="")
        assert list(Flow.objects.values()) == before
        assert not Journal.objects.exists()

    def test_flow_setting_of_unknown_agent_is_refused(self):
        with pytest.raises(StateError, match="no flow row"):
            flow_settings.set_flow("toy.omega", {"window": 1}, actor="ann", reason="")


class TestTurns:
    def test_one_lanes_many_do_not_hold_up_anothers_one(self, settings):
        settings.SAS_WINDOW = 3
        for n in range(50):
            submit("toy_line", subject=f"Big {n}", input={}, lane="big", now=NOW)
        single = submit(
            "toy_line", subject="Small", input={}, lane="small", now=NOW + timedelta(seconds=2)
        )
        later = NOW + timedelta(seconds=3)
        Flow.objects.filter(agent="toy.alpha").update(window=5)
        taken = [one.process_id for one in claim_steps.claim_due({"toy.alpha"}, anywhere(), later)]
        assert single.pk in taken
        assert len(taken) == 5

    def test_without_lanes_who_came_first_goes_first(self):
        found = [submit("toy_line", subject=f"Toy {n}", input={}, now=NOW).pk for n in range(5)]
        assert [one.process_id for one in claim()] == found

    def test_a_lane_waits_its_turn_and_not_for_ever(self):
        """The tenth of a lane comes before others that were submitted ten seconds later."""
        tenth = [
            submit("toy_line", subject=f"Big {n}", input={}, lane="big", now=NOW) for n in range(10)
        ][-1]
        other = submit(
            "toy_line", subject="Late", input={}, lane="late", now=NOW + timedelta(seconds=10)
        )
        assert tenth.turn < other.turn

    def test_a_lane_that_is_served_in_time_is_not_set_back(self, wire):
        """What was done already is no debt: only what is open stands in the way."""
        for n in range(20):
            at = NOW + timedelta(seconds=n / 10)
            busy = submit("toy_line", subject=f"Busy {n}", input={}, lane="busy", now=at)
            assert busy.turn == at
            Process.objects.filter(pk=busy.pk).update(state="processed", finished_at=at)

    def test_a_lane_keeps_its_order_while_its_backlog_drains(self):
        first = [
            submit("toy_line", subject=f"Big {n}", input={}, lane="big", now=NOW) for n in range(10)
        ]
        done = [process.pk for process in first[:8]]
        Process.objects.filter(pk__in=done).update(state="processed", finished_at=NOW)
        last = submit("toy_line", subject="Last", input={}, lane="big", now=NOW)
        assert last.turn >= first[-1].turn
        later = NOW + timedelta(seconds=60)
        taken = claim_steps.claim_due({"toy.alpha"}, anywhere(), later)
        open_ones = [one.process_id for one in taken if one.process_id not in done]
        assert open_ones == [first[8].pk, first[9].pk, last.pk]

    def test_a_priority_below_zero_is_refused(self):
        with pytest.raises(ValueError, match="must be 0 to 100, got -1"):
            submit("toy_line", subject="Last", input={}, priority=-1)
        assert not Process.objects.exists()

    def test_priority_is_a_head_start(self):
        usual = submit("toy_line", subject="Usual", input={}, now=NOW)
        urgent = submit(
            "toy_line", subject="Urgent", input={}, priority=1, now=NOW + timedelta(minutes=59)
        )
        assert urgent.turn < usual.turn
        assert urgent.turn > usual.turn - timedelta(minutes=2)
        taken = claim_steps.claim_due({"toy.alpha"}, anywhere(), NOW + timedelta(hours=1))
        assert [one.process_id for one in taken] == [urgent.pk, usual.pk]

    def test_every_step_has_its_processes_turn(self, wire):
        process = submit("toy_undoable", subject="Toy 1", input={}, lane="a", priority=2)
        assert set(Step.objects.values_list("turn", flat=True)) == {process.turn}


class TestOverload:
    """It is no failure: every process ends by itself, none in error."""

    def test_ten_times_what_fits_waits_and_fails_nothing(self, wire):
        Flow.objects.update(window=3)
        for n in range(60):
            submit("toy_line", subject=f"Toy {n}", input={})
        wire.run_until_idle()

        assert set(Process.objects.values_list("state", flat=True)) == {"processed"}
        assert set(Step.objects.values_list("failure_count", flat=True)) == {0}
        assert Alert.objects.count() == 0

    def test_a_step_whose_worker_dies_again_and_again_ends_by_the_count_in_the_row(self, wire):
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
