"""Agents whose effects are lines of a file, which outlives whoever wrote them."""

import time

from django.conf import settings

from workers import Agent, Call, register_agent


def note(what: str, key: str) -> None:
    with (settings.BASE_DIR / "ledger").open("a") as ledger:
        ledger.write(f"{what} {key}\n")


@register_agent
class Assess(Agent):
    name = "claim.assess"
    queue = "acme.assessors"

    def run(self, call: Call) -> dict:
        time.sleep(0.3)
        note("assess", call.key)
        return {"worth": call.payload["sum"]}


@register_agent
class Pay(Agent):
    name = "claim.pay"

    def run(self, call: Call) -> dict:
        time.sleep(0.3)
        note("pay", call.key)
        return {"paid": call.payload["sum"]}


@register_agent
class Reclaim(Agent):
    name = "claim.reclaim"

    def run(self, call: Call) -> dict:
        note("reclaim", call.key)
        return {}
