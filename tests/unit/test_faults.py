"""A fault on the wire, on its row and inside the engine."""

from datetime import UTC, datetime

import pytest

from workers.exceptions import Permanent, Unavailable
from workers.protocol.faults import FaultRecord

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def test_fault_raised_by_agent_is_sent_with_every_field():
    busy = Unavailable("http_503", "busy", retry_after=3)
    busy.tries = 2

    assert list(FaultRecord.of(busy).to_json().items()) == [
        ("kind", "unavailable"),
        ("code", "http_503"),
        ("message", "busy"),
        ("retry_after", 3.0),
        ("tries", 2),
    ]
    assert FaultRecord.of(Permanent("no", "")).to_json() == {
        "kind": "permanent", "code": "no", "message": "", "retry_after": None, "tries": 1,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("error", "says"),
    [(MemoryError(), "MemoryError"), (ValueError("no such day"), "ValueError: no such day")],
    ids=repr,
)
def test_an_exception_is_told_with_what_it_says(error, says):
    assert FaultRecord.of_error("permanent", "code", error).message == says


def test_fault_record_omits_fields_that_were_not_given():
    noted = FaultRecord("expired", "expired", "no reply by complete-by").noted(NOW)

    assert list(noted.to_json().items()) == [
        ("kind", "expired"),
        ("code", "expired"),
        ("message", "no reply by complete-by"),
        ("at", "2026-03-01T12:00:00+00:00"),
    ]


@pytest.mark.parametrize(
    "body",
    [
        FaultRecord.of(Permanent("no", "never")).noted(NOW).to_json(),
        FaultRecord("expired", "worker_died", "gone", claim="ab", deaths=2).to_json(),
        {"kind": "expired", "code": "worker_died", "message": "gone", "claim": None, "deaths": 1},
    ],
)
def test_a_row_is_read_as_it_was_written(body):
    fault = FaultRecord.from_json(body)

    assert fault is not None
    assert fault.to_json() == body


def test_what_newer_code_says_is_left_unread():
    assert FaultRecord.from_json({"kind": "permanent", "whose": "ours"}) == FaultRecord("permanent")
    assert FaultRecord.from_json(None) is None


@pytest.mark.parametrize("body", ["a text", 5, ["x"], {"kind": []}, {"code": 7}])
def test_malformed_fault_json_is_read_as_its_message(body):
    assert FaultRecord.from_json(body) == FaultRecord(message=str(body))


def test_an_error_of_an_application_s_code_is_cut_and_can_be_stored():
    fault = FaultRecord.of_error("permanent", "condition_failed", ValueError("\x00" + "x" * 600))

    assert (fault.kind, fault.code, len(fault.message)) == ("permanent", "condition_failed", 500)
    assert fault.message.startswith("ValueError: \ufffdx")
