"""The API while the database is away: 503, when to come back, and no trace of the inside."""

from typing import Any

import pytest
from django.db import InterfaceError, OperationalError

from orders import tokens
from orders.api import reading
from tests.api.conftest import BODY

pytestmark = pytest.mark.fault("F16")


@pytest.mark.parametrize("error", [OperationalError, InterfaceError])
def test_it_says_when_to_come_back(error, acme, monkeypatch, caplog):
    def away(*_: Any, **__: Any) -> Any:
        raise error("server closed the connection at 10.0.0.7\n\tIs it running?\n")

    monkeypatch.setattr(tokens, "verify", away)

    for answer in (acme.post("/orders", BODY, key="key-1"), acme.get("/orders")):
        assert (answer.status_code, answer["Retry-After"]) == (503, "5")
        assert answer["Content-Type"] == "application/problem+json"
        assert "10.0.0.7" not in answer.content.decode()
    reasons = [vars(one)["reason"] for one in caplog.records if one.message == "database_away"]
    assert reasons == ["server closed the connection at 10.0.0.7"] * 2


def test_an_answer_that_was_lost_with_the_database_is_found_by_its_key(acme, monkeypatch):
    def away(*_: Any, **__: Any) -> Any:
        raise OperationalError("gone")

    with monkeypatch.context() as patch:
        patch.setattr(reading, "accepted", away)
        assert acme.place().status_code == 503

    assert acme.place().status_code == 200
