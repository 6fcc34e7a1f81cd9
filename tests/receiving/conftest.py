"""A provider with a secret, and a step that waits for what it says."""

from collections.abc import Iterator

import pytest
from django.core.cache import cache
from django.utils import timezone

from tests.toyflow import agents as toy
from tests.toyflow import webhooks as provider
from workers.client.submission import submit
from workers.definitions.agent import Call, Deferred
from workers.definitions.webhook_provider import Answer, Event
from workers.models import Process
from workers.supervisor import beat_schedule

#: 24 bytes, as Standard Webhooks has them.
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
OTHER = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
STRIPE = "whsec_8e1f6a3c5d7b9024a6c8e0f1b3d5a7c9"


@pytest.fixture(autouse=True)
def providers() -> Iterator[None]:
    """Give the toy providers their secrets, and forget what a test has scripted."""
    cache.clear()
    provider.script.clear()
    provider.secrets.update({"toy-pay": [SECRET], "toy-bank": [STRIPE]})
    yield
    provider.script.clear()
    provider.secrets.clear()


@pytest.fixture
def early(db, wire) -> Process:
    """A process whose first step is due: the one that asks has not begun."""
    beat_schedule.ensure_flow()
    toy.script["toy.alpha"] = defer
    return submit("toy_answered", subject="Toy 1", input={"amount": "18.50"})


@pytest.fixture
def waiting(early, wire) -> Process:
    """A process whose second step waits for an answer; what comes is its result."""
    wire.run_until_idle()
    assert wire.states(early)["ask"] == "processing"
    answer(early)
    return early


def defer(call: Call) -> Deferred:
    return Deferred(within_seconds=7200)


def answer(process: Process, step: str = "ask") -> None:
    """Have whatever comes be the step's result."""
    provider.script["answers"] = lambda event: Answer(process.pk, step, event.body)


def event(id: str = "msg_1", **body: object) -> Event:
    return Event(id, timezone.now(), dict(body))
