"""Agents without a service: what is measured is the engine."""

import time
from typing import Any

from workers.agent import Agent, Call
from workers.registry import register_agent


class Noop(Agent):
    window = 800

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
class Slow(Agent):
    """Waits for 50 ms, as for a service."""

    name = "bench.slow"
    window = 160

    def run(self, call: Call) -> dict[str, Any]:
        time.sleep(0.05)
        return {}
