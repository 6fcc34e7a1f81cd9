"""A team's agents: each writes into the ledger when its service is called, and when that ends."""

import time
from typing import Any

from tests.shape import ledger
from workers import Agent, Call, NewProcess, PerKey, register_agent, submit_many

WINDOW = 3
RATE = 8
PORTION = 100


class Witnessed(Agent):
    """Calls a service that honours idempotency keys: a second call of one has no effect."""

    #: By which part of the payload its calls are limited.
    limited_by = ""

    def run(self, call: Call) -> dict[str, Any]:
        limit = str(call.payload.get(self.limited_by, ""))
        # It works until its answer is due, and not longer.
        until = time.time() + call.deadline.remaining()
        ledger.write("begin", self.name, limit, call.payload["what"], call.key, until)
        time.sleep(0.02 + 0.2 * (hash(call.key) % 10) / 10)
        ledger.write("end", self.name, limit, call.payload["what"], call.key, until)
        return {}


@register_agent
class Charge(Witnessed):
    """One call at a time for each customer."""

    name = "shape.charge"
    per_key = PerKey("customer", window=1)
    limited_by = "customer"


@register_agent
class Mail(Witnessed):
    name = "shape.mail"


@register_agent
class Render(Witnessed):
    """So many calls at once for each studio, and so many a second."""

    name = "shape.render"
    per_key = PerKey("studio", window=WINDOW, rate=RATE)
    limited_by = "studio"


@register_agent
class Renew(Agent):
    """Begins a renewal for each customer, once, however often it is called."""

    name = "shape.renew"

    def run(self, call: Call) -> dict[str, Any]:
        month, customers = call.payload["month"], range(call.payload["customers"])
        for begin in range(0, len(customers), PORTION):
            wanted = [
                NewProcess(
                    f"renewal {month}/{customer}",
                    {"customer": customer, "what": f"{month}/{customer}"},
                    attributes={"customer": customer},
                    submission_key=f"{month}/{customer}",
                    key_for=None,
                )
                for customer in customers[begin : begin + PORTION]
            ]
            submit_many("shape_renewal", wanted)
        return {}
