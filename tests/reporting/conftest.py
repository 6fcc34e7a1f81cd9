"""Processes that somebody is told of, and what they were told."""

import json
from typing import Any

import pytest

from workers.client.submission import submit
from workers.definitions import registry
from workers.models import Process, Sink
from workers.notify import relay as relays
from workers.notify.relay import Relay
from workers.notify.senders import StatusMessage
from workers.rules.rows import NewSink
from workers.supervisor import beat_schedule
from workers.testing import Wire

QUEUE = NewSink("queue", "replies.acme.one", owner="client:acme", correlation_id="cart-7")
SECRET = "whsec_" + "c2VjcmV0" * 4


@pytest.fixture(autouse=True)
def flow_rows(db) -> None:
    beat_schedule.ensure_flow()


@pytest.fixture
def secrets(monkeypatch) -> dict[str, tuple[str, ...]]:
    """Secrets by owner, as an app would have them."""
    known: dict[str, tuple[str, ...]] = {"client:acme": (SECRET,)}
    registry.discover()
    monkeypatch.setattr(registry, "_secrets", [lambda owner: known.get(owner, ())])
    return known


def told(*sinks: NewSink, subject: str = "Toy 1", workflow: str = "toy_told") -> Process:
    return submit(workflow, subject=subject, input={"id": subject}, sinks=sinks or (QUEUE,))


def webhook(url: str, owner: str = "client:acme", correlation_id: str = "") -> NewSink:
    return NewSink("webhook", url, owner=owner, correlation_id=correlation_id)


def read(letters: list[StatusMessage]) -> list[dict[str, Any]]:
    return [json.loads(letter.body) for letter in letters]


def sequences(wire: Wire) -> list[int]:
    return [letter.sequence for letter in wire.told]


def sink_of(process: Process) -> Sink:
    return Sink.objects.get(process=process)


def relay(kind: str) -> Relay:
    return next(one for one in relays.relays() if one.kind == kind)
