"""What is said of a step and of a process, whatever holds it back."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from workers import explaining
from workers.models import Process, Step

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)


def said(held: Any = (), *, process: dict[str, Any] | None = None, **columns: Any) -> str:
    row = Step(name="pay", agent="payment.charge", **columns)
    return explaining.step(row, Process(**(process or {})), NOW, held)


@pytest.mark.parametrize(
    ("columns", "held", "text"),
    [
        ({}, [], "waits for room at agent payment.charge"),
        ({}, [("everything", "")], "waits until operators lift the hold on everything"),
        ({}, [("agent", "payment.charge")], "lift the hold on agent payment.charge"),
        ({}, [("step", "pay")], "lift the hold on steps called pay"),
        ({}, [("agent", "other"), ("step", "other")], "waits for room"),
        ({"not_before": NOW + HOUR}, [], "begins on 13:00:00, not before"),
        ({"not_before": NOW + 24 * HOUR}, [], "begins on 2026-03-02 12:00:00, not before"),
        ({"not_before": NOW - HOUR}, [], "waits for room"),
        (
            {"not_before": NOW + HOUR, "fault": {"message": "answered 500"}},
            [],
            "tried again in 3600 s: answered 500",
        ),
    ],
)
def test_a_pending_step(columns: dict[str, Any], held: Any, text: str) -> None:
    assert text in said(held, state="pending", **columns)


def test_a_pause_comes_before_any_other_reason() -> None:
    found = said([("everything", "")], process={"paused_at": NOW}, state="pending")
    assert found == "waits until the process is resumed"


@pytest.mark.parametrize(
    ("deferral", "text"),
    [
        ({"since": "2026-03-01T11:00:00+00:00"}, "waits for an answer since 11:00:00, until 13:"),
        ({"since": "2026-03-01T11:00:00+00:00", "question": "paid?"}, "11:00:00: “paid?”, until"),
        ({"since": None}, "since ?"),
        (
            {"progress": {"percent": 40}, "reported_at": "2026-03-01T11:30:00+00:00"},
            "last report at 11:30:00: percent: 40",
        ),
    ],
)
def test_a_deferred_step(deferral: dict[str, Any], text: str) -> None:
    assert text in said(state="processing", deferral=deferral, complete_by=NOW + HOUR)


def test_an_answer_that_did_not_come_in_time() -> None:
    found = said(state="processing", deferral={}, complete_by=NOW - HOUR)
    assert found.startswith("got no answer in time")


@pytest.mark.parametrize(
    ("process", "steps", "text"),
    [
        ({"state": "processing", "paused_at": NOW}, [], "Paused since 12:00:00"),
        (
            {"state": "processing", "deadline_at": NOW + HOUR},
            [],
            "It must have ended by 13:00:00, or it is undone.",
        ),
        (
            {"state": "processing", "deadline_at": NOW + HOUR, "on_deadline": "alert"},
            [],
            "or an operator is told.",
        ),
        (
            {"state": "processing"},
            [("error", {"on_failure": "ask"})],
            "Somebody must decide: pay because.",
        ),
    ],
)
def test_a_headline(process: dict[str, Any], steps: list[Any], text: str) -> None:
    rows = [(Step(name="pay", state=state, **columns), "because") for state, columns in steps]
    assert text in explaining.headline(Process(**process), rows, NOW)


@pytest.mark.parametrize("state", ["processed", "cancelled", "compensating"])
def test_a_date_that_does_not_count_any_more_is_not_said(state: str) -> None:
    found = explaining.headline(Process(state=state, deadline_at=NOW + HOUR), [], NOW)
    assert "must have ended" not in found


def test_a_step_that_was_not_needed_says_so() -> None:
    assert said(state="skipped") == "not needed"
    fault = {"kind": "permanent", "message": "no such address"}
    assert said(state="skipped", fault=fault) == "skipped: no such address"
