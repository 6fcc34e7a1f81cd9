"""Silence is noticed outside: the ping comes each minute, and only while sweeps do their duty."""

from collections.abc import Iterator

import pytest
from django.test import override_settings

from tests.reporting.receiver import Receiver, receiving
from workers import supervisor
from workers.desk.notify import ping
from workers.desk.notify.ping import Ping


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with (
        receiving() as receiver,
        override_settings(SAS_PING_URL=receiver.url + "/ping/secret", DEBUG=True),
    ):
        yield receiver


def test_a_sweep_has_it_called_once_a_minute(receiver, wire, clock):
    for _ in range(3):
        supervisor.sweep()
        wire.run_until_idle()
    assert [one.path for one in receiver.received] == ["/ping/secret"]

    # A second more: SQLite rounds what it adds.
    clock.advance(seconds=ping.INTERVAL_SECONDS + 1)
    supervisor.sweep()
    wire.run_until_idle()
    assert len(receiver.received) == 2


def test_it_is_not_called_when_no_sweep_was_in_time(receiver, wire, clock):
    assert Ping().run() == 0, "there never was a sweep"
    supervisor.sweep()
    clock.advance(seconds=30)
    assert Ping().run() == 0
    assert receiver.received == []


def fail(*_args: object, **_kwargs: object) -> None:
    raise RuntimeError


def test_a_sweep_that_fails_calls_nobody(receiver, wire, clock, monkeypatch):
    monkeypatch.setattr("workers.store.expire.expire_claims.look", fail)
    with pytest.raises(RuntimeError):
        supervisor.sweep()
    wire.run_until_idle()
    assert receiver.received == []


def test_it_is_not_called_while_operators_cannot_be_told(receiver, wire, clock, monkeypatch):
    with monkeypatch.context() as broken:
        broken.setattr("workers.desk.store.incidents.refresh", fail)
        supervisor.sweep()
    wire.run_until_idle()
    assert Ping().run() == 0
    assert receiver.received == []
    supervisor.sweep()
    assert Ping().run() == 1


def test_one_that_is_not_answered_is_made_again_a_minute_later(receiver, wire, clock, caplog):
    receiver.status = 500
    supervisor.sweep()
    assert Ping().run() == 0
    assert Ping().run() == 0
    assert len(receiver.received) == 1
    assert "ping_failed" in caplog.text
    assert "secret" not in caplog.text
    receiver.status = 200
    clock.advance(seconds=61)
    supervisor.sweep()
    assert Ping().run() == 1


def test_sweep_sends_no_ping_without_an_address(wire, clock):
    supervisor.sweep()
    assert [one.task for one in wire.messages if "report" in one.task] == []
    assert Ping().run() == 0
