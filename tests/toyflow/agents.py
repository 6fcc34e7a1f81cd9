"""Agents that do as a test's script says."""

import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from celery import shared_task
from django.contrib.auth.models import Group

from workers.definitions.agent import Agent, Call, Deferred, LocalAgent
from workers.definitions.effects import Effect
from workers.definitions.per_key import PerKey
from workers.definitions.registry import register_agent, register_task

#: Agent name -> what it does; a test puts a callable here and the fixture empties it.
script: dict[str, Callable[[Any], dict[str, Any] | Deferred | None]] = {}
#: Agent name -> the keys it was called with, in order.
calls: dict[str, list[str]] = defaultdict(list)


def _follow(name: str, call: Call) -> dict[str, Any] | Deferred | None:
    calls[name].append(call.key)
    return script[name](call) if name in script else {"by": name}


@register_agent
class Alpha(Agent):
    name = "toy.alpha"

    def run(self, call: Call) -> dict[str, Any] | Deferred | None:
        return _follow(self.name, call)


@register_agent
class Beta(Agent):
    name = "toy.beta"
    bundle_limit = 5

    def run(self, call: Call) -> dict[str, Any] | Deferred | None:
        return _follow(self.name, call)


@register_agent
class Gamma(Agent):
    name = "toy.gamma"
    window = 3

    def run(self, call: Call) -> dict[str, Any] | Deferred | None:
        return _follow(self.name, call)


@register_agent
class Delta(Agent):
    name = "toy.delta"

    def run(self, call: Call) -> dict[str, Any] | Deferred | None:
        return _follow(self.name, call)


@register_agent
class Keyed(Agent):
    """One call at a time for each customer."""

    name = "toy.keyed"
    per_key = PerKey("customer")

    def run(self, call: Call) -> dict[str, Any] | Deferred | None:
        return _follow(self.name, call)


@register_agent
class Rated(Agent):
    """Two calls a second for each customer, as many at once as there are."""

    name = "toy.rated"
    per_key = PerKey("customer", window=100, rate=2)

    def run(self, call: Call) -> dict[str, Any] | Deferred | None:
        return _follow(self.name, call)


@register_agent
class KeyedPairs(Agent):
    """Two calls at a time for each plan; it undoes, and others fall back on it."""

    name = "toy.keyed_pairs"
    per_key = PerKey("plan", window=2)

    def run(self, call: Call) -> dict[str, Any] | Deferred | None:
        return _follow(self.name, call)


@register_agent
class OtherUndoer(Agent):
    name = "toy.other_undoer"

    def run(self, call: Call) -> dict[str, Any] | Deferred | None:
        return _follow(self.name, call)


@register_agent
class Mailer(Agent):
    name = "toy.mailer"
    effect = Effect.UNSAFE

    def run(self, call: Call) -> dict[str, Any] | Deferred | None:
        return _follow(self.name, call)


@register_agent
class Quiet(Agent):
    """Changes nothing outside: asks, or reads."""

    name = "toy.quiet"
    effect = Effect.NONE

    def run(self, call: Call) -> dict[str, Any] | Deferred | None:
        return _follow(self.name, call)


@register_agent
class Asker(Agent):
    """Can ask its service what became of a call; the script's ``toy.asker?`` answers."""

    name = "toy.asker"
    effect = Effect.QUERYABLE

    def run(self, call: Call) -> dict[str, Any] | Deferred | None:
        return _follow(self.name, call)

    def probe(self, call: Call) -> dict[str, Any] | Deferred | None:
        calls["toy.asker?"].append(call.key)
        return script["toy.asker?"](call) if "toy.asker?" in script else None


@register_agent
class Forgetful(Agent):
    """Its service remembers keys for an hour."""

    name = "toy.forgetful"
    key_retention_seconds = 3600

    def run(self, call: Call) -> dict[str, Any] | Deferred | None:
        return _follow(self.name, call)


@shared_task(name="toy.greet", bind=True)
def greet(self: Any, name: str, key: str = "") -> str:
    """Greet somebody, as a task that was there before the workflow."""
    calls["toy.greet"].append(key)
    if "toy.greet" in script:
        script["toy.greet"](self)
    return f"hello {name}"


GREET = register_task(greet, effect=Effect.IDEMPOTENT, key_argument="key")


@register_agent
class Writer(LocalAgent):
    """Writes a row of somebody else's table, so that a test can see whether it stayed."""

    name = "toy.writer"

    def run(self, call: Call) -> dict[str, Any] | Deferred | None:
        Group.objects.create(name=call.key)
        return _follow(self.name, call)


def sleeper(seconds: float) -> Callable[[Call], dict[str, Any]]:
    def run(call: Call) -> dict[str, Any]:
        time.sleep(seconds)
        return {}

    return run


@register_agent
class Undoer(Agent):
    """Undoes whatever it is told to."""

    name = "toy.undoer"

    def run(self, call: Call) -> dict[str, Any] | Deferred | None:
        undone.append((call.step, call.payload["undoes"]))
        return _follow(self.name, call)


#: (undo step, key it undid) in order.
undone: list[tuple[str, str]] = []
