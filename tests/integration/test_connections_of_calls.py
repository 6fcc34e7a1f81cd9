"""Connections that an agent's call opens: closed after it, whatever became of it."""

from types import SimpleNamespace
from typing import Any

import pytest
from django.db import InterfaceError, connection, connections

from tests.integration.conftest import only
from tests.toyflow import agents as toy
from workers.agent import shift
from workers.client.submission import submit
from workers.definitions.agent import Call
from workers.exceptions import Permanent
from workers.models import Process
from workers.runtime import db_connections


class _Connection:
    """What is asked of Django's wrapper of a connection."""

    def __init__(self, alias: str, *, is_open: bool = False, in_atomic_block: bool = False) -> None:
        self.alias, self.in_atomic_block = alias, in_atomic_block
        self.connection: object | None = object() if is_open else None

    def close(self) -> None:
        self.connection = None


@pytest.fixture
def two(monkeypatch) -> tuple[_Connection, _Connection]:
    """The kept connection, which is open, and another database's, which is not."""
    both = _Connection("default", is_open=True), _Connection("archive")
    handler = SimpleNamespace(all=lambda initialized_only: list(both))
    monkeypatch.setattr(db_connections, "connections", handler)
    return both


def test_what_a_block_has_opened_is_closed_and_the_kept_one_stays(two):
    kept, opened = two
    with db_connections.closed_after():
        opened.connection = object()

    assert (kept.connection is None, opened.connection) == (False, None)


def test_it_is_closed_after_a_call_that_raised_too(two):
    def call() -> None:
        two[1].connection = object()
        raise KeyError

    with pytest.raises(KeyError), db_connections.closed_after():
        call()

    assert two[1].connection is None


def test_one_in_a_transaction_is_left_alone(two):
    two[1].in_atomic_block = True
    with db_connections.closed_after():
        two[1].connection = object()

    assert two[1].connection is not None


def test_one_that_cannot_be_closed_costs_the_call_nothing(two, monkeypatch):
    def close() -> None:
        raise InterfaceError("already closed")

    monkeypatch.setattr(two[1], "close", close)
    with db_connections.closed_after():
        two[1].connection = object()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("fault", [None, Permanent("no", "no")])
def test_an_agent_that_reads_the_orm_leaves_no_connection_in_its_thread(fault, wire):
    used: list[Any] = []

    def read(call: Call) -> dict[str, Any]:
        used.append(connections["default"])
        count = Process.objects.count()
        assert used[-1].connection is not None
        if fault:
            raise fault
        return {"processes": count}

    toy.script["toy.alpha"] = read
    process = submit("toy_line", subject="Toy 1", input={})

    shift.take("sas.agents")

    (wrapper,) = used
    assert wrapper is not connections["default"], "the call ran in the test's own thread"
    assert wrapper.connection is None
    assert connection.connection is not None
    assert only(process, "one").result == (None if fault else {"processes": 1})
