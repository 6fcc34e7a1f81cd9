"""How often one attempt calls a service."""

from typing import Any
from uuid import uuid4

import pytest

from tests.toyflow import agents as toy
from workers.agent import runner
from workers.agent.call_pool import Work
from workers.definitions import registry
from workers.definitions.agent import Call, Deadline
from workers.definitions.effects import Effect
from workers.exceptions import Unavailable
from workers.http import post
from workers.protocol.messages import Request


@pytest.mark.parametrize(
    ("effect", "tries"),
    [(Effect.UNSAFE, 1), (Effect.QUERYABLE, 1), (Effect.IDEMPOTENT, 3), (Effect.NONE, 3)],
)
def test_call_is_repeated_within_it_only_where_that_is_harmless(monkeypatch, effect, tries):
    made: list[int] = []

    def call_a_service(call: Call) -> dict[str, Any]:
        try:
            post("http://127.0.0.1:9/x", json={}, key="k", remaining=lambda: 20)
        except Unavailable as fault:
            made.append(fault.tries)
            raise
        return {}

    monkeypatch.setattr(type(registry.agent("toy.alpha")), "effect", effect)
    toy.script["toy.alpha"] = call_a_service
    request = Request(1, uuid4(), 2, "pay", "Toy", "k", {})
    runner.call(Work(registry.agent("toy.alpha"), request, Deadline(30)))

    assert made == [tries]
