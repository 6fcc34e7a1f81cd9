"""One order whose money moves when nobody expects it any more."""

from dataclasses import dataclass, field
from datetime import datetime
from random import Random
from typing import Any

from tests.late_truth.bank import Bank
from tests.toyflow import agents as toy
from workers import supervisor
from workers.client import callbacks, webhooks
from workers.client.submission import submit
from workers.definitions.agent import Call, Deferred
from workers.definitions.webhook_provider import Answer, Event, Provider
from workers.exceptions import BadToken, Unavailable
from workers.models import Process
from workers.rules.external_answers import Outcome
from workers.store.operate import record_answers
from workers.testing import Clock, Wire

DOORS = ("callback", "webhook", "event")


def _answers(event: Event) -> Answer | None:
    found = record_answers.by_key(event.body["key"])
    result = {"paid": event.body["key"]}
    return Answer(*found, result, key=event.body["key"]) if found else None


_PROVIDER = Provider("late-bank", secrets=list, answers=_answers)


#: Stories by the subjects of their orders: earlier ones go on while a later one is told.
_stories: dict[str, "Story"] = {}


def _collect(call: Call) -> Deferred:
    return _stories[call.subject].bank.collect(call)


def _give_back(call: Call) -> dict[str, Any]:
    return _stories[call.subject].bank.give_back(call)


def _then(call: Call) -> dict[str, Any]:
    if not _stories[call.subject].is_healed:
        raise Unavailable("down", "not now", no_effect=True)
    return {}


def _first(call: Call) -> dict[str, Any] | Deferred:
    return _collect(call) if _stories[call.subject].falls_back else {}


@dataclass
class Story:
    """An order, its bank, and what was told of it."""

    wire: Wire
    clock: Clock
    rng: Random
    number: int
    falls_back: bool
    bank: Bank = field(default_factory=Bank)
    is_healed: bool = False
    #: What each success came to, by key.
    delivered: dict[str, list[str]] = field(default_factory=dict)
    undone_by_hand: set[str] = field(default_factory=set)

    @property
    def step(self) -> str:
        """Return the name of the step that the bank pays."""
        return "ship" if self.falls_back else "ask"

    def begin(self) -> None:
        """Submit the order, and have it wait for its bank; what comes after that rests."""
        subject = f"Order {self.number}"
        _stories[subject] = self
        toy.script |= {
            "toy.alpha": _collect,
            "toy.beta": _first,
            "toy.gamma": _then,
            "toy.undoer": _give_back,
            "toy.other_undoer": _give_back,
        }
        workflow = "toy_fallback_undo" if self.falls_back else "toy_answered"
        self.process: Process = submit(workflow, subject=subject, input={})
        self.run()

    def run(self) -> None:
        self.wire.run_until_idle()

    def heal(self) -> None:
        """Let everything be done that is due, by services that work."""
        self.bank.is_down = False
        self.is_healed = True
        self.pass_time(hours=1, times=2)

    def pass_time(self, *, hours: float, times: int) -> None:
        """Let time pass in few steps; each ends what is over, and does what is due."""
        for _ in range(times):
            self.clock.advance(hours=hours)
            supervisor.sweep()
            self.run()

    @property
    def key(self) -> str:
        """Return the newest key under which the bank was asked."""
        return list(self.bank.tokens)[-1]

    @property
    def token(self) -> str:
        return self.bank.tokens[self.key]

    def pay(self, key: str) -> None:
        self.bank.paid.add(key)

    def deliver(self, key: str) -> str:
        """Tell of a success by one of the doors; return what came of it."""
        self.pay(key)
        door = self.rng.choice(DOORS)
        if door == "event" and key != self.key:
            # An event of the application knows no former key.
            door = "webhook"
        try:
            outcome = self._through(door, key)
        except BadToken:
            outcome = "gone"
        self.delivered.setdefault(key, []).append(str(outcome))
        return outcome

    def _through(self, door: str, key: str) -> Outcome:
        result: dict[str, Any] = {"paid": key}
        if door == "webhook" and record_answers.by_key(key):
            event = Event(f"evt-{self.number}-{self.rng.random()}", self._now(), {"key": key})
            return webhooks.take(_PROVIDER, event)
        if door == "event" and record_answers.by_key(key):
            return callbacks.complete_step(self.process.pk, self.step, result, actor="event:bank")
        return callbacks.complete(self.bank.tokens[key], result)

    def _now(self) -> datetime:
        return self.clock.now
