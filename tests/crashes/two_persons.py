"""Requests to undo: whoever dies while asking or deciding has done all of it or nothing."""

from collections.abc import Callable
from contextlib import suppress

from tests.crashes.scenario import Scenario, always, nothing
from tests.toyflow import agents as toy
from workers.client.submission import submit
from workers.exceptions import Permanent, StateError
from workers.models import Journal, Process, UndoRequest
from workers.rules.approved_acts import Act
from workers.store.operate import undo_requests
from workers.testing import Aftermath, Wire


def _failed(wire: Wire) -> None:
    toy.script["toy.beta"] = always(Permanent("no", "it is refused for good"))
    submit("toy_undoable", subject="Toy 1", input={})
    wire.run_until_idle()


def _ask() -> None:
    # Whoever saw no answer asks again, and is told that it is asked for.
    with suppress(StateError):
        undo_requests.ask(
            Process.objects.get().pk, Act("cancel"), actor="operator:ann", reason="because"
        )


def _asked(after: Aftermath) -> None:
    assert UndoRequest.objects.get().state == "waiting"
    after.assert_same_journal(may_add=())
    assert Journal.objects.filter(event="undo_asked").count() == 1


def _waits(wire: Wire) -> None:
    _failed(wire)
    _ask()


def _decide(*, is_approved: bool) -> Callable[[], None]:
    def begin() -> None:
        with suppress(StateError):
            number = UndoRequest.objects.get().pk
            undo_requests.decide(number, is_approved=is_approved, actor="operator:bob")

    return begin


def _decided(state: str, process: str) -> Callable[[Aftermath], None]:
    def check(after: Aftermath) -> None:
        assert UndoRequest.objects.get().state == state
        assert Process.objects.get().state == process
        after.assert_same_journal(may_add=())
        assert Journal.objects.filter(event=f"undo_{state}").count() == 1

    return check


SCENARIOS = [
    Scenario("ask to undo", _ask, _asked, prepare=_failed, run=nothing),
    Scenario(
        "approve an undo",
        _decide(is_approved=True),
        _decided("approved", "compensating"),
        prepare=_waits,
        run=nothing,
    ),
    Scenario(
        "decline an undo",
        _decide(is_approved=False),
        _decided("declined", "error"),
        prepare=_waits,
        run=nothing,
    ),
]
