"""Why a step that is ready is not at work: the first reason of the order is said."""

from datetime import timedelta
from typing import Any

import pytest

from tests.unit.build import NOW
from workers.models import Process, Step
from workers.rules.breaker import Breaker
from workers.rules.rate_limit import Bucket
from workers.rules.wait_reasons import AgentFlow, Duty, Facts, Note, obstacle, pending

AGENT = "toy.alpha"
SECOND = timedelta(seconds=1)
OPEN = Breaker(streak=10, opened_at=NOW - 60 * SECOND, open_until=NOW + 30 * SECOND)


def a_row(**columns: Any) -> Step:
    return Step(**({"name": "pay", "agent": AGENT, "state": "pending"} | columns))


def a_process(**columns: Any) -> Process:
    return Process(**({"id": 1, "workflow": "toy", "version": 2, "state": "processing"} | columns))


def with_flow(**columns: Any) -> Facts:
    return Facts(flows={AGENT: AgentFlow(**({"window": 5} | columns))})


REASONS = [
    ({}, {"paused_at": NOW}, Facts(), "waits until the process is resumed"),
    ({}, {"state": "error"}, Facts(), "waits until the step in error is dealt with"),
    (
        {},
        {"state": "compensating"},
        Facts(),
        "is not begun any more: what was done is being undone",
    ),
    (
        {},
        {},
        Facts(holds={("agent", AGENT): Note("ann", "stocktaking")}),
        "waits until operators lift the hold on agent toy.alpha (by ann: stocktaking)",
    ),
    ({}, {}, Facts(poll=Duty(5, None)), "waits: no Scheduler has ever looked for work"),
    (
        {},
        {},
        Facts(unknown={"workflow:toy:2"}),
        "waits for a worker that knows workflow toy version 2",
    ),
    ({}, {}, Facts(unknown={f"agent:{AGENT}"}), "waits for a worker that knows agent toy.alpha"),
    (
        {"not_before": NOW + 9 * SECOND, "fault": {"message": "busy"}},
        {},
        Facts(),
        "tried again at 12:00:09 UTC: busy",
    ),
    ({}, {}, Facts(flows={}), "waits: agent toy.alpha has no flow row"),
    ({}, {}, with_flow(breaker=OPEN), "waits: the service of agent toy.alpha has not been reached"),
    ({}, {}, with_flow(window=0), "waits until operators set the window of agent toy.alpha"),
    (
        {},
        {},
        with_flow(in_flight=5),
        "waits for room at agent toy.alpha: 5 of 5 requests are in flight",
    ),
    (
        {},
        {},
        with_flow(bucket=Bucket(2, tokens=0.0, at=NOW)),
        "waits for its turn: agent toy.alpha takes 2 a second at most",
    ),
    ({}, {}, Facts(), "waits for an agent process to take it"),
]


@pytest.mark.parametrize(("row", "process", "facts", "says"), REASONS)
def test_a_pending_step_says_why(
    row: dict[str, Any], process: dict[str, Any], facts: Facts, says: str
) -> None:
    assert pending(a_row(**row), a_process(**process), NOW, facts).startswith(says)


def test_a_pause_is_said_before_a_hold_and_a_hold_before_the_breaker() -> None:
    facts = Facts(holds={("everything", ""): None}, flows={AGENT: AgentFlow(5, breaker=OPEN)})

    assert "resumed" in pending(a_row(), a_process(paused_at=NOW), NOW, facts)
    assert "hold on everything" in pending(a_row(), a_process(), NOW, facts)


def test_a_submitter_is_not_told_which_operator() -> None:
    facts = Facts(holds={("everything", ""): Note("ann", "stocktaking")}).without_names()

    assert "ann" not in pending(a_row(), a_process(), NOW, facts)


def test_backoff_shorter_than_open_breaker_is_not_the_wait_reason() -> None:
    row = a_row(not_before=NOW + 5 * SECOND, fault={"message": "busy"})

    assert "breaker is open" in pending(row, a_process(), NOW, with_flow(breaker=OPEN))


def test_what_would_hold_up_a_step_is_said_ahead() -> None:
    assert obstacle(a_row(), a_process(), NOW, with_flow(in_flight=5)) == ""
    assert "breaker is open" in obstacle(a_row(), a_process(), NOW, with_flow(breaker=OPEN))
    assert "which is 0" in obstacle(a_row(), a_process(), NOW, with_flow(window=0))
