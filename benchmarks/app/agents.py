"""Agents that do nothing, so that the engine is what is measured, and one that calls a service."""

import os
from typing import Any

from benchmarks.regimes.service import URL
from workers.definitions.agent import Agent, Call
from workers.definitions.effects import Effect
from workers.definitions.per_key import PerKey
from workers.definitions.registry import register_agent
from workers.http import post


class Noop(Agent):
    def run(self, call: Call) -> dict[str, Any]:
        return {}


@register_agent
class First(Noop):
    name = "bench.first"


@register_agent
class Second(Noop):
    name = "bench.second"


@register_agent
class Third(Noop):
    name = "bench.third"


@register_agent
class Fourth(Noop):
    name = "bench.fourth"


@register_agent
class Keyed(Noop):
    """One call at a time for each customer."""

    name = "bench.keyed"
    per_key = PerKey("customer")


@register_agent
class Remote(Agent):
    """Calls a service, as the shop's agents do."""

    name = "bench.remote"

    def run(self, call: Call) -> dict[str, Any]:
        url = os.environ[URL]
        answer = post(url, key=call.key, remaining=call.deadline.remaining, json={})
        return answer.body


@register_agent
class Unsafe(Remote):
    """Calls a service that would do twice what it is told twice."""

    name = "bench.unsafe"
    effect = Effect.UNSAFE
