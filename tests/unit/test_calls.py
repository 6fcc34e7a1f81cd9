"""Calls side by side: which answers travel together."""

from concurrent.futures import Future
from typing import Any
from uuid import uuid4

import pytest

from workers.agent import call_pool
from workers.agent.call_pool import Calls
from workers.protocol.messages import Reply, Request


class AtOnce:
    """A pool that does its work where it is asked to."""

    def submit(self, work: Any) -> Future[None]:
        work()
        return Future()


def a_request(number: int) -> Request:
    return Request(number, uuid4(), 1, "toy", "Toy", "key", {})


def answered(request: Request) -> Reply:
    return Reply.of(request, {})


@pytest.mark.parametrize(
    ("took", "gathers"),
    [
        pytest.param(0.0, 0.005, id="no-time-at-all"),
        pytest.param(0.02, 0.01, id="a-share-of-what-they-took"),
        pytest.param(3.0, 0.025, id="no-longer-than-the-most"),
    ],
)
def test_late_answers_are_waited_for_by_what_the_others_took(
    took: float, gathers: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    waited: list[float] = []
    monkeypatch.setattr(call_pool, "monotonic", lambda: now)
    some: Any = Calls(AtOnce(), 2, answered, [a_request(1), a_request(2)])  # type: ignore[arg-type]
    monkeypatch.setattr(some, "wait_until_over", waited.append)
    some.begin()

    now += took
    found = some.take(60)

    assert (len(found), waited) == (2, [pytest.approx(gathers)])


def test_nobody_is_waited_for_past_the_time_that_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []
    some: Any = Calls(AtOnce(), 2, answered, [a_request(1)])  # type: ignore[arg-type]
    monkeypatch.setattr(some, "wait_until_over", waited.append)
    some.begin()

    some.take(0.001)

    assert waited == [0.001]
