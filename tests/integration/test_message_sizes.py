"""What travels together is cut by its size."""

from typing import Any

import pytest

from tests.integration.test_runtime import replies_on
from tests.toyflow import agents as toy
from workers import scheduler
from workers.agent import shift
from workers.client.submission import submit_many
from workers.models import Step
from workers.protocol.messages import MESSAGE_BYTES, Bundle, parcels
from workers.rules.rows import NewProcess
from workers.testing import Wire
from workers.wire import dispatch

pytestmark = pytest.mark.django_db


def bundles(wire: Wire, orders: int, input: dict[str, Any] | None = None) -> list[Bundle]:
    submit_many("toy_line", [NewProcess(f"Toy {n}", input or {}) for n in range(orders)])
    scheduler.advance()
    found = [Bundle.from_wire(sent.body[0]) for sent in wire.of(dispatch.RUN_BUNDLE)]
    wire.drop_all()
    return found


def sizes(wire: Wire) -> list[int]:
    return [len(sent.body[0]["requests"]) for sent in wire.of(dispatch.RUN_BUNDLE)]


def started() -> int:
    return Step.objects.filter(name="one", started_at__isnull=False).count()


def messages(wire: Wire) -> list[int]:
    return [len(sent.body[0]["replies"]) for sent in wire.of(dispatch.SETTLE)]


def test_messages_do_not_grow_with_their_payloads(wire: Wire) -> None:
    half = "x" * 250_000

    found = bundles(wire, 8, {"note": half})

    assert [len(bundle.requests) for bundle in found] == [4, 4]
    assert all(len(bundle.requests[0].payload["note"]) == len(half) for bundle in found)


def test_replies_do_not_grow_with_their_results(wire: Wire) -> None:
    toy.script["toy.alpha"] = lambda call: {"note": "x" * 250_000}
    (bundle,) = bundles(wire, 16)

    assert shift.perform(bundle) == 16

    # They would be one message.
    assert max(messages(wire)) == 4
    assert len(replies_on(wire)) == 16


@pytest.mark.parametrize(
    ("given", "together"),
    [
        ([], []),
        ([5], [1]),
        ([MESSAGE_BYTES * 3], [1]),
        ([MESSAGE_BYTES, 0, 1], [2, 1]),
        ([1, MESSAGE_BYTES * 2, 1], [1, 1, 1]),
    ],
)
def test_what_goes_into_one_message(given: list[int], together: list[int]) -> None:
    assert [len(given[part]) for part in parcels(given)] == together
