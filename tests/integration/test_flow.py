"""A service that is away: its steps wait, use up no attempts, and go on when it is back."""

from typing import Any

import pytest
from django.db import connection, transaction
from django.test import override_settings
from django.test.utils import CaptureQueriesContext

from tests.alerts import text_of
from tests.integration.conftest import NOW, begin, calls_on, only
from tests.toyflow import agents as toy
from workers import supervisor
from workers.client.submission import submit
from workers.conf import sas
from workers.definitions import per_key, registry
from workers.definitions.agent import Call
from workers.exceptions import Unavailable
from workers.http import fault_of_status
from workers.models import Alert, Flow, Process, Step
from workers.rules.masks import Mask
from workers.store import personal_data
from workers.store.claims import claim_steps
from workers.store.flow import flow_control, last_answers
from workers.supervisor import beat_schedule
from workers.testing import Wire, pass_time
from workers.testing.agent_processes import room as anywhere


def away(call: Call) -> dict[str, Any]:
    raise Unavailable("http_503", "away")


def breaker() -> Flow:
    return Flow.objects.get(agent="toy.alpha")


def let_it_rest() -> None:
    """Let the time of an open breaker be over."""
    row = breaker()
    if row.open_until is not None:
        Flow.objects.filter(pk=row.pk).update(open_until=row.opened_at)


def go_on(wire: Wire, rounds: int) -> None:
    for _ in range(rounds):
        wire.run_until_idle()
        pass_time(600)
        let_it_rest()


@pytest.mark.fault("F25")
def test_a_dead_service_opens_its_breaker_and_nothing_more_is_claimed(wire):
    toy.script["toy.alpha"] = away
    for number in range(30):
        submit("toy_line", subject=f"Toy {number}", input={})

    wire.run_until_idle()
    calls = len(toy.calls["toy.alpha"])
    pass_time(600)
    wire.run_until_idle()

    assert breaker().open_until is not None
    assert len(toy.calls["toy.alpha"]) == calls
    assert set(Step.objects.filter(name="one").values_list("state", "failure_count")) == {
        ("pending", 0)
    }


@pytest.mark.fault("F25")
def test_a_long_outage_ends_with_every_order_processed_and_none_in_error(wire):
    toy.script["toy.alpha"] = away
    for number in range(30):
        submit("toy_line", subject=f"Toy {number}", input={})
    go_on(wire, 20)
    probes = len(toy.calls["toy.alpha"])

    del toy.script["toy.alpha"]
    go_on(wire, 3)

    assert set(Process.objects.values_list("state", flat=True)) == {"processed"}
    assert set(Step.objects.values_list("failure_count", flat=True)) == {0}
    assert not Alert.objects.filter(code="process_error").exists()
    # Thirty at first, then one probe at a time.
    assert probes <= 30 + 20
    assert breaker().open_until is None


@pytest.mark.fault("F25")
def test_a_half_open_breaker_lets_one_claim_through(wire):
    toy.script["toy.alpha"] = away
    for number in range(20):
        submit("toy_line", subject=f"Toy {number}", input={})
    wire.run_until_idle()
    pass_time(600)
    let_it_rest()
    wire.drop_all()

    begin(wire)

    assert len(calls_on(wire)) == 1


def test_other_agents_go_on(wire):
    toy.script["toy.alpha"] = away
    for number in range(20):
        submit("toy_line", subject=f"Toy {number}", input={})
    narrow = submit("toy_narrow", subject="Narrow", input={})

    wire.run_until_idle()

    assert wire.states(narrow) == {"only": "processed"}


def test_a_breaker_open_for_long_is_one_alert(wire):
    toy.script["toy.alpha"] = away
    for number in range(20):
        submit("toy_line", subject=f"Toy {number}", input={})
    wire.run_until_idle()
    supervisor.sweep()
    assert not Alert.objects.exists()

    Flow.objects.filter(agent="toy.alpha").update(opened_at="2026-01-01T00:00Z")
    supervisor.sweep()
    supervisor.sweep()

    assert list(Alert.objects.values_list("code", "times")) == [("breaker_open", 1)]
    assert ": away. Its steps wait" in text_of(Alert.objects.get())


def refuse(call: Call) -> dict[str, Any]:
    raise fault_of_status("POST /charge", 401, {}, {})


def test_refused_credentials_hold_every_order_undo_none_and_are_one_alert(wire):
    toy.script["toy.alpha"] = refuse
    for number in range(20):
        submit("toy_line", subject=f"Toy {number}", input={})
    go_on(wire, 12)
    Flow.objects.filter(agent="toy.alpha").update(opened_at="2026-01-01T00:00Z")
    supervisor.sweep()

    assert set(Step.objects.filter(name="one").values_list("state", "failure_count")) == {
        ("pending", 0)
    }
    alert = Alert.objects.get()
    assert alert.code == "breaker_open"
    assert ": POST /charge: answered 401: look at our credentials." in text_of(alert)

    del toy.script["toy.alpha"]
    go_on(wire, 3)
    assert set(Process.objects.values_list("state", flat=True)) == {"processed"}


def test_order_refused_alone_goes_to_an_operator_and_is_not_undone(wire):
    toy.script["toy.alpha"] = lambda call: refuse(call) if call.subject == "Bad" else {}
    bad = submit("toy_line", subject="Bad", input={})
    for number in range(6):
        submit("toy_line", subject=f"Toy {number}", input={})
        wire.run_until_idle()
        pass_time(600)

    assert (only(bad, "one").state, only(bad, "one").failure_count) == ("error", 0)
    assert Process.objects.get(subject="Bad").state == "error"
    assert list(Alert.objects.values_list("code", flat=True)) == ["process_error"]
    assert breaker().open_until is None


def test_status_that_an_agent_declares_is_its_service_s_own_refusal(wire, monkeypatch):
    monkeypatch.setattr(type(registry.agent("toy.alpha")), "proof", frozenset({401}))
    toy.script["toy.alpha"] = refuse
    submit("toy_line", subject="Toy 1", input={})

    wire.run_until_idle()

    fault = Step.objects.get(name="one").fault
    assert (fault["kind"], fault["code"], fault["no_effect"]) == ("permanent", "http_401", True)


def test_what_a_service_answered_last_is_told_without_what_is_personal(wire, monkeypatch):
    toy.script["toy.alpha"] = away
    asked = submit("toy_line", subject="Toy 1", input={"name": "Ada"})
    submit("toy_line", subject="Toy 2", input={})
    wire.run_until_idle()
    row = only(asked, "one")
    Step.objects.filter(pk=row.pk).update(
        fault={**row.fault, "message": "no Ada here", "at": "9999-01-01T00:00:00+00:00"}
    )
    mask = Mask(("name",), [{"name": "Ada"}])
    monkeypatch.setattr(personal_data, "of_processes", lambda ids: dict.fromkeys(ids, mask))
    assert last_answers.of(["toy.alpha", "toy.beta"]) == {"toy.alpha": "no … here"}


def test_a_look_that_finds_nothing_asks_once_and_not_for_each_agent():
    # Those whose keys have a rate ask when the next token is there.
    agents = {agent.name for agent in registry.agents() if not per_key.rate(agent.name)}

    with CaptureQueriesContext(connection) as captured:
        assert claim_steps.claim_due(agents, anywhere()) == []

    asked = [query["sql"] for query in captured.captured_queries if "SELECT" in query["sql"]]
    assert len(agents) > 1
    # Who has steps waiting, and what room there is: one round trip, and nothing else.
    assert len(asked) == 2


def test_successor_is_claimed_at_settlement_without_further_look(wire):
    submit("toy_line", subject="Toy 1", input={})

    with CaptureQueriesContext(connection) as captured:
        wire.run_until_idle()

    looks = [
        query["sql"]
        for query in captured.captured_queries
        if query["sql"].startswith("SELECT s.id, s.process_id FROM workers_live l")
        and "l.state = 'pending'" in query["sql"]
    ]
    # The first step is looked for; the second is claimed as the first one ends.
    assert len(looks) == 1


def test_a_healthy_service_s_row_is_never_written(wire):
    submit("toy_line", subject="Toy 1", input={})

    with CaptureQueriesContext(connection) as captured:
        wire.run_until_idle()

    assert [q for q in captured.captured_queries if "UPDATE workers_flow" in q["sql"]] == []


@pytest.mark.fault("F35")
@override_settings(SAS_BREAKER_THRESHOLD=2)
def test_a_code_that_knows_no_such_agent_or_version_leaves_the_step_alone(wire):
    process = submit("toy_line", subject="Toy 1", input={})
    Step.objects.filter(process=process, name="two").update(agent="toy.unheard_of")
    other = submit("toy_line", subject="Toy 2", input={})
    Process.objects.filter(pk=other.pk).update(version=99)

    due_at = Step.objects.get(process=other, name="one").not_before
    wire.run_until_idle()

    two = Step.objects.get(process=process, name="two")
    one = Step.objects.get(process=other, name="one")
    assert [(s.state, s.failure_count, s.attempt) for s in (two, one)] == [("pending", 0, 0)] * 2
    # It keeps its turn.
    assert one.not_before == due_at
    assert not Alert.objects.exists()


def test_what_a_transaction_claims_and_ends_counts_before_it_is_written():
    Flow.objects.filter(agent="toy.alpha").update(window=10)
    with transaction.atomic():
        locked = flow_control.LockedFlow({"toy.alpha"}, NOW)
        rooms = [locked.room()["toy.alpha"]]
        for _ in range(4):
            locked.spend("toy.alpha", 1)
        rooms.append(locked.room()["toy.alpha"])
        locked.free({"toy.alpha": 1, "toy.beta": 5})
        rooms.append(locked.room()["toy.alpha"])

    assert rooms == [10, 6, 7]
    assert "toy.beta" not in locked.room()


def test_a_declared_rate_holds_from_the_first_claim_and_an_operator_overrides_it(monkeypatch):
    monkeypatch.setattr(toy.Alpha, "rate", 2.0)
    Flow.objects.filter(agent="toy.alpha").delete()
    beat_schedule.ensure_flow()
    flow_row = Flow.objects.get(agent="toy.alpha")
    assert (flow_row.rate_per_second, flow_row.window) == (2.0, int(sas.window))
    for number in range(5):
        submit("toy_line", subject=f"Toy {number}", input={})

    assert len(claim_steps.claim_due({"toy.alpha"}, anywhere())) == 1

    Flow.objects.filter(agent="toy.alpha").update(rate_per_second=None)
    beat_schedule.ensure_flow()
    assert Flow.objects.get(agent="toy.alpha").rate_per_second is None
    assert len(claim_steps.claim_due({"toy.alpha"}, anywhere())) == 4
