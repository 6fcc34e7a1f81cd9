"""The status message, to the letter."""

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from uuid import UUID

from workers.notify import status_message as status
from workers.store.unsent_statuses import News, Subject


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


ABOUT = Subject(UUID(int=5), "Order 7", "fulfilment", 2, {})


def test_a_message_has_these_fields_and_no_others():
    told = status.message("order", {"order_id": "0a", "number": 7}, ABOUT, news())

    assert told == {
        "type": "order.status",
        "version": 1,
        "process_id": "00000000-0000-0000-0000-000000000005",
        "subject": "Order 7",
        "order_id": "0a",
        "number": 7,
        "sequence": 3,
        "state": "processing",
        "event": "refused",
        "step": "charge_payment",
        "at": "2026-11-21T09:30:00Z",
    }
    assert json.loads(status.encode(told)) == told


def test_an_app_may_call_the_thing_by_its_own_words():
    told = status.message("order", {"subject": "your order"}, ABOUT, news())

    assert (told["subject"], told["process_id"]) == ("your order", str(ABOUT.uid))


def test_an_app_may_leave_out_what_it_has_other_words_for():
    facts = {"process_id": None, "subject": None, "parcel": None}
    told = status.message("order", facts, ABOUT, news())

    assert "process_id" not in told
    assert "subject" not in told
    assert told["parcel"] is None


def test_a_message_about_no_step_names_none():
    assert "step" not in status.message("order", {}, ABOUT, news(step=None))


def test_an_instant_is_told_in_utc():
    at = datetime(2026, 11, 21, 11, 30, tzinfo=timezone(timedelta(hours=2)))
    assert status.message("order", {}, ABOUT, news(at=at))["at"] == "2026-11-21T09:30:00Z"


def test_detail_is_codes_and_nothing_else():
    detail = {
        "fault": {"kind": "permanent", "code": "card_declined", "message": "Ada's card"},
        "reason": "total_exhausted",
        "locked_by": "agent@host:7",
        "agent": "payment.charge",
        "key": "0a:1:1",
        "changes": {"customer.address": ["a", "b"]},
    }
    told = status.message("order", {}, ABOUT, news(detail=detail))["detail"]
    assert told == {"kind": "permanent", "code": "card_declined", "reason": "total_exhausted"}


def test_a_sentence_is_no_reason():
    given = news(detail={"reason": "Ada called", "fault": {"code": "it said: no"}})
    assert "detail" not in status.message("order", {}, ABOUT, given)


def test_what_an_operator_wrote_is_not_told():
    given = news(detail={"reason": "fraud"}, actor="operator:eve")
    assert "detail" not in status.message("order", {}, ABOUT, given)
