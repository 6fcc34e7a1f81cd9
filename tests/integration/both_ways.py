"""What is done in two ways, compared: claims, and all rows."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from itertools import zip_longest
from operator import itemgetter
from random import Random
from typing import Any
from uuid import uuid4

from django.db import transaction
from msgspec.structs import asdict, replace

from tests.integration.conftest import NOW
from tests.integration.test_store_claims import start
from tests.integration.test_store_settling import a_fault, a_result
from workers.client.submission import submit
from workers.definitions import registry
from workers.models import Alert, Flow, Hold, Journal, LiveStep, Process, Sink, Step
from workers.protocol.messages import Reply
from workers.rules.rows import NewSink
from workers.store.claims import claim_steps, request_data
from workers.store.claims.claim_steps import Claim

WORKFLOWS = (
    "toy_line",
    "toy_diamond",
    "toy_undoable",
    "toy_optional",
    "toy_conditional",
    "toy_parallel",
    "toy_fallback_undo",
    "toy_asking",
    "toy_delayed",
    "toy_answered",
    "toy_narrow",
    "toy_heard",
)
OTHERS = (Process, Flow, Sink)

Row = dict[str, Any]
#: What a way of doing something came to: its claims, and all rows.
Outcome = tuple[list[Row], list[Row]]


def rows_now() -> list[Row]:
    """Return all rows; of a claim whether it is there, of the journal its order in a process.

    Steps by their names: undo steps that are made twice have other numbers.
    """
    steps = list(Step.objects.order_by("process_id", "position").values())
    names: dict[int | None, Any] = {
        step["id"]: (step["process_id"], step["name"]) for step in steps
    }
    for step in steps:
        step["claim_id"] = step["claim_id"] is not None
        step["undoes_id"] = names.get(step["undoes_id"])
        if step["fault"] and "at" in step["fault"]:
            step["fault"]["at"] = datetime.fromisoformat(step["fault"]["at"])
        del step["id"]
    told = Journal.objects.order_by("process_id", "pk").values()
    journal = [{name: row[name] for name in row if name != "id"} for row in told]
    for row in journal:
        row["step_id"] = names.get(row["step_id"])
        row["detail"].pop("claim", None)
        for name in ("claimed_at", "started_at", "complete_by", "not_before"):
            if name in row["detail"]:
                row["detail"][name] = datetime.fromisoformat(row["detail"][name])
    live = list(LiveStep.objects.order_by("step__process_id", "step__position").values())
    for row in live:
        row["step_id"] = names[row["step_id"]]
    tables = [steps, live, journal, *(model.objects.order_by("pk").values() for model in OTHERS)]
    alerts = Alert.objects.order_by("cause").values("cause", "code", "message", "times")
    return [row for table in [*tables, alerts] for row in table]


def _said(taken: Sequence[Claim], *, is_counted: bool) -> list[Row]:
    """Return what claims say, their steps' rows, and what their requests are built from."""
    held = dict(Step.objects.values_list("pk", "claim_id"))
    material = request_data.material(taken).contexts
    anew = request_data.material([replace(one, owner=None, context=None) for one in taken]).contexts
    assert repr(sorted(material.items())) == repr(sorted(anew.items()))
    assert all(held[one.step_id] == one.claim_id for one in taken)
    left_out = {"claim_id", "step_id", "undoes_id", "owner", "context"} | (
        set() if is_counted else {"in_flight"}
    )
    said = [
        {name: value for name, value in asdict(claim).items() if name not in left_out}
        for claim in taken
    ]
    return sorted(said, key=itemgetter("process_id", "step"))


def outcome(way: Callable[[], Sequence[Claim]], *, is_counted: bool) -> Outcome:
    """Return what a way comes to, and take it back."""
    with transaction.atomic():
        taken = way()
        found = (_said(taken, is_counted=is_counted), rows_now())
        transaction.set_rollback(True)
    return found


def are_the_same(one: Outcome, other: Outcome, *, is_ordered: bool = True) -> None:
    """Say where two outcomes differ, for all of them is too much to read."""
    if not is_ordered:
        one, other = ([sorted(rows, key=repr) for rows in way] for way in (one, other))
    for some, others in zip(one, other, strict=True):
        unlike = [
            {name: (row.get(name), beside.get(name)) for name in {**row, **beside}}
            for row, beside in zip_longest(some, others, fillvalue={})
            if row != beside
        ]
        assert not unlike, unlike[:2]


def every_agent() -> set[str]:
    return {one.name for one in registry.agents()}


class Life:
    """Processes that go on at random, and now and then something out of the ordinary."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.now = NOW
        self.under_way: list[Claim] = []

    def submit(self, workflows: Sequence[str]) -> None:
        number = Process.objects.count()
        sinks = [NewSink("queue", "replies.a.b")] if self.random.random() < 0.3 else []
        given = {"n": number, "maybe": bool(number % 2), "day": self.now.isoformat()}
        submit(
            self.random.choice(workflows),
            subject=f"Toy {number}",
            input=given,
            sinks=sinks,
            now=self.now,
        )

    def claim(self) -> None:
        self.now += timedelta(seconds=self.random.choice([1, 70, 4000]))
        self.under_way += claim_steps.claim_due(every_agent(), "scheduler", self.now)

    def replies(self, faults: float) -> list[Reply]:
        """Return replies of some claims, mostly of started ones that went well."""
        self.random.shuffle(self.under_way)
        count = self.random.randint(1, max(1, len(self.under_way)))
        some, self.under_way = self.under_way[:count], self.under_way[count:]
        start(some, self.now)
        found = [self._reply(one, faults) for one in some]
        if found and self.random.random() < 0.1 * bool(faults):
            found.append(found[0])
        return found

    def _reply(self, one: Claim, faults: float) -> Reply:
        chance = self.random.random() / faults if faults else 1
        if chance < 0.5:
            return a_fault(one, self.random.choice(["transient", "permanent", "unavailable"]))
        if chance < 0.7:
            return replace(a_result(one), claim_id=uuid4())
        if chance < 0.9:
            deferral = {"seconds": 60, "question": "", "permission": "", "is_asked_once": False}
            return Reply(one.step_id, one.claim_id, one.attempt, deferral=deferral)
        size = self.random.choice([1, 3000])
        return a_result(one, size=size, text="x" * size, by=one.agent)

    def disturb(self) -> None:
        """Do what makes rows anything but plain, or what undoes it."""
        some = Process.objects.order_by("pk")[self.random.randrange(Process.objects.count())]
        match self.random.randrange(10):
            case 0:
                Process.objects.filter(pk=some.pk).update(paused_at=self.now)
            case 1:
                Process.objects.update(paused_at=None)
            case 2:
                Hold.objects.get_or_create(
                    kind="agent", name="toy.beta", defaults={"reason": "", "began_at": self.now}
                )
            case 3:
                Hold.objects.all().delete()
            case 4:
                Flow.objects.filter(agent="toy.beta").update(unavailable_streak=3)
            case 5:
                Flow.objects.filter(agent="toy.alpha").update(rate_per_second=0.5, tokens=1)
            case 6:
                Flow.objects.update(unavailable_streak=0, rate_per_second=None, forced=None)
            case 7:
                Flow.objects.filter(agent="toy.gamma").update(forced="open")
            case 8:
                Step.objects.filter(state="processing", process=some).update(reply={"v": 1})
            case 9:
                Process.objects.filter(pk=some.pk).update(needs_decision=True)

    def quieten(self) -> None:
        """Undo what keeps whole agents from being plain."""
        Hold.objects.all().delete()
        Flow.objects.update(
            unavailable_streak=0, opened_at=None, open_until=None, rate_per_second=None, forced=None
        )
