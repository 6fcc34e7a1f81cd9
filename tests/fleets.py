"""A process with children, as the tests of child groups submit it."""

from tests.toyflow import agents as toy
from workers import Refused, submit
from workers.models import Process, Step

BY = {"actor": "operator:ann", "reason": "a test"}


def fleet(count=7, workflow="toy_fleet", **more):
    """Submit a process with so many children."""
    items = [{"number": number} for number in range(count)]
    return submit(workflow, subject="Fleet", input={"items": items}, **more)


def state_of(process):
    return Process.objects.get(pk=process.pk).state


def step_of(process, name="each"):
    return Step.objects.get(process=process, name=name)


def born():
    """Return all children that were born."""
    return Process.objects.filter(group__isnull=False).order_by("pk")


def fails(*numbers, fault=None):
    """Have the children with these numbers fail at their first step."""

    def run(call):
        if call.payload.get("number") in numbers:
            raise fault or Refused("no", "the business said no")
        return {"number": call.payload.get("number")}

    toy.script["toy.alpha"] = run
