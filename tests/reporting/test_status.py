"""The status message, to the letter."""

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

from workers.notify import status_message as status
from workers.store.unsent_statuses import News


def news(**changes: Any) -> News:
    facts = {
        "sequence": 3,
        "event": "refused",
        "state": "processing",
        "step": "charge_payment",
        "actor": "scheduler@host:1",
        "detail": {},
        "at": datetime(2026, 11, 21, 9, 30, tzinfo=UTC),
        "is_move": False,
    }
    return News(**facts | changes)


def test_a_message_has_these_fields_and_no_others() -> None:
    told = status.message("order", {"order_id": "0a", "number": 7}, news())

    assert told == {
        "type": "order.status",
        "version": 1,
        "order_id": "0a",
        "number": 7,
        "sequence": 3,
        "state": "processing",
        "event": "refused",
        "step": "charge_payment",
        "at": "2026-11-21T09:30:00Z",
    }
    assert json.loads(status.encode(told)) == told


def test_a_message_about_no_step_names_none() -> None:
    assert "step" not in status.message("order", {}, news(step=None))


def test_an_instant_is_told_in_utc() -> None:
    at = datetime(2026, 11, 21, 11, 30, tzinfo=timezone(timedelta(hours=2)))
    assert status.message("order", {}, news(at=at))["at"] == "2026-11-21T09:30:00Z"


def test_detail_is_codes_and_nothing_else() -> None:
    detail = {
        "fault": {"kind": "permanent", "code": "card_declined", "message": "Ada's card"},
        "reason": "total_exhausted",
        "locked_by": "agent@host:7",
        "agent": "payment.charge",
        "key": "0a:1:1",
        "changes": {"customer.address": ["a", "b"]},
    }
    told = status.message("order", {}, news(detail=detail))["detail"]
    assert told == {"kind": "permanent", "code": "card_declined", "reason": "total_exhausted"}


def test_a_sentence_is_no_reason() -> None:
    given = news(detail={"reason": "Ada called", "fault": {"code": "it said: no"}})
    assert "detail" not in status.message("order", {}, given)


def test_what_an_operator_wrote_is_not_told() -> None:
    given = news(detail={"reason": "fraud"}, actor="operator:eve")
    assert "detail" not in status.message("order", {}, given)
