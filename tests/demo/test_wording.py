"""What the board says of an order, in words."""

from datetime import UTC, datetime
from typing import Any

import pytest

from sasproject.demo import wording
from workers.client.progress import ProcessProgress, StepProgress
from workers.states import StepState

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def step(name: str = "charge_payment", state: str = "pending", **facts: Any) -> StepProgress:
    return StepProgress(
        **{
            **dict.fromkeys(StepProgress.__dataclass_fields__),
            "name": name,
            "state": state,
            "agent": "payment.charge",
            "attempt": 1,
            "failure_count": 0,
            "failure_threshold": 6,
            "timeout_seconds": 5,
            "explanation": "",
            **facts,
        }
    )


def process(state: str, *steps: StepProgress) -> ProcessProgress:
    return ProcessProgress(
        **{
            **dict.fromkeys(ProcessProgress.__dataclass_fields__),
            "id": 1,
            "state": state,
            "steps": steps,
        }
    )


STARTED = {"started_at": NOW, "complete_by": NOW}


@pytest.mark.parametrize(
    ("state", "facts", "word"),
    [
        ("waiting", {}, "-"),
        ("pending", {}, "next"),
        ("pending", {"fault": {"kind": "transient"}}, "retry"),
        ("processing", {}, "sent"),
        ("processing", STARTED, "busy"),
        ("processing", {**STARTED, "fault": {"kind": "expired"}}, "again"),
        ("processed", {}, "done"),
        ("error", {}, "ERROR"),
        ("processing", {**STARTED, "is_deferred": True}, "asks"),
        ("skipped", {}, "-"),
        ("skipped", {"fault": {"kind": "transient"}}, "skip"),
        ("compensated", {}, "undone"),
        ("cancelled", {}, "-"),
    ],
)
def test_a_step_in_a_word(state, facts, word):
    assert wording.cell(step(state=state, **facts)).text == word


@pytest.mark.parametrize(
    ("state", "troubles", "says"),
    [
        ("processed", (), "DONE"),
        ("processed", ("failed",), "FAILED → RECOVERED, DONE"),
        ("processed", ("parked", "expired", "lost"), "EXPIRED → RECOVERED, DONE"),
        ("compensated", ("failed",), "FAILED → RECOVERED, COMPENSATED"),
        ("cancelled", (), "CANCELLED"),
    ],
)
def test_an_order_at_its_end(state, troubles, says):
    assert wording.order(process(state, step(state="processed")), troubles).text == says


@pytest.mark.parametrize(
    ("state", "facts", "says"),
    [
        ("pending", {}, "payment, waiting its turn"),
        (
            "pending",
            {"fault": {"kind": "transient"}, "retry_seconds": 2.6},
            "FAILED → RETRY payment in 3 s",
        ),
        (
            "pending",
            {"fault": {"kind": "unavailable"}, "retry_seconds": 1.2},
            "PARKED → RETRY payment in 1 s",
        ),
        ("pending", {"fault": {"kind": "expired"}}, "EXPIRED → RETRY payment now"),
        ("pending", {"fault": {"kind": "permanent"}}, "REFUSED → RETRY payment now"),
        ("processing", {}, "payment, sent to a worker"),
        ("processing", {**STARTED, "remaining_seconds": 3.7}, "payment, 4 s left"),
        (
            "processing",
            {**STARTED, "remaining_seconds": 3.7, "fault": {"kind": "expired"}},
            "EXPIRED → AGAIN payment, 4 s left",
        ),
        ("processing", {**STARTED, "remaining_seconds": -0.5}, "EXPIRED payment, Supervisor next"),
    ],
)
def test_an_order_on_its_way(state, facts, says):
    assert wording.order(process("processing", step(state=state, **facts)), ()).text == says


def test_an_order_in_error_names_the_step():
    found = wording.order(process("error", step("book_shipment", "error")), ())
    assert (found.text, found.tone) == ("ERROR parcel, operator told", "bad")


def test_board_says_pending_order_waits_for_scheduler():
    assert wording.order(process("pending"), ()).text == "waiting for the Scheduler"


def test_a_step_that_is_not_known_is_shown_by_its_own_name():
    assert wording.step_name("weigh_parcel") == "weigh_parcel"


@pytest.mark.parametrize("state", StepState)
def test_a_step_fits_its_column_on_a_narrow_terminal(state):
    assert len(wording.cell(step(state=str(state))).text) <= 6


def test_an_order_that_is_undone_says_what_is_undone_now():
    undo = step("refund_payment", "processing", **{**STARTED, "remaining_seconds": 3.7})
    found = wording.order(process("compensating", undo), ())
    assert (found.text, found.tone) == ("UNDOING: refund, 4 s left", "warning")
