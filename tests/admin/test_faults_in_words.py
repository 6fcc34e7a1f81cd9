"""A fault in one line: its kind, its code where the message does not say it, and the message."""

import pytest

from workers.desk.admin.badges import fault_text


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        ({}, ""),
        ({"kind": "permanent", "code": "http_422", "message": "no"}, "permanent: http_422: no"),
        ({"kind": "expired", "code": "expired", "message": "late"}, "expired: late"),
        (
            {"kind": "expired", "code": "worker_died", "message": "its worker died: signal 9"},
            "expired: its worker died: signal 9",
        ),
        ({"kind": "transient", "code": "reset", "message": ""}, "transient: reset"),
        ({"kind": "expired", "code": "", "message": None}, "expired"),
    ],
)
def test_nothing_is_said_twice(fault, text):
    assert fault_text(fault) == text
