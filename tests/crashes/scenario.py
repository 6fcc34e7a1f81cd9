"""What is survived: a scenario, and the services that remember what was done in it."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from uuid import uuid4

from django.conf import settings

from tests.toyflow import agents as toy
from workers.client.submission import submit
from workers.definitions.agent import Call
from workers.exceptions import Fault
from workers.models import Journal, Process, Step
from workers.testing import Aftermath, Clock, Ledger, Wire, wired
from workers.testing.crashes import Rehearsal, Survey, crash_everywhere, rehearse, settle


@cache
def services() -> Ledger:
    """Return what all fake services of this test run remember."""
    return Ledger(Path(settings.RUN_DIR) / "crashes.ledger")


def is_first(mishap: str) -> bool:
    """Say whether a mishap is yet to happen, in whatever thread or process; it is no more."""
    mine = uuid4().hex
    return bool(services().act(mishap, "mishap", by=mine)["by"] == mine)


def nothing(wire: Wire, clock: Clock) -> None:
    """Run nothing: what is begun is whole by itself."""


@dataclass(frozen=True)
class Scenario:
    """Something that is begun, by a client that repeats itself, and must end as if once."""

    name: str
    begin: Callable[[], object]
    check: Callable[[Aftermath], None]
    #: Makes what is there before, with a wire and without any crash.
    prepare: Callable[[Wire], object] = lambda wire: None
    run: Callable[[Wire, Clock], None] = settle
    #: The points at which it is killed in a short run, its own; None: all it reaches.
    brief: tuple[str, ...] | None = None

    def rehearse(self) -> Rehearsal:
        return rehearse(self.begin, self.check, prepare=self._prepare, run=self.run)

    def crash(self, **options: Any) -> Survey:
        return crash_everywhere(
            self.begin, self.check, prepare=self._prepare, run=self.run, **options
        )

    def _prepare(self) -> None:
        services().clear()
        toy.script.clear()
        for agent in TOYS:
            toy.script[agent] = does
        toy.script["toy.mailer"] = mails
        with wired() as wire:
            self.prepare(wire)


TOYS = [
    *("toy.alpha", "toy.beta", "toy.gamma", "toy.delta", "toy.undoer"),
    *("toy.other_undoer", "toy.asker", "toy.forgetful"),
]


def does(call: Call) -> dict[str, Any]:
    """Have an effect at the service, as a toy agent: once for each key."""
    return services().act(call.key, call.step)


def mails(call: Call) -> dict[str, Any]:
    """Have an effect at each call: a mail server keeps no keys."""
    return services().act(uuid4().hex, call.step)


def once(fault: Fault) -> Callable[[Call], dict[str, Any]]:
    """Raise a fault at the first call, whichever process makes it, and work from then on."""

    def run(call: Call) -> dict[str, Any]:
        if happens_once(f"a fault for {call.key}"):
            raise fault.with_traceback(None)
        return does(call)

    return run


def always(fault: Fault) -> Callable[[Call], dict[str, Any]]:
    def run(call: Call) -> dict[str, Any]:
        raise fault.with_traceback(None)

    return run


def happens_once(what: str) -> bool:
    """Note something outside every process; True where it had not been noted."""
    if services().find(what) is not None:
        return False
    services().act(what, "mishap")
    return True


def submit_once(workflow: str, **options: Any) -> Callable[[], object]:
    """Return a client that submits a process, and finds out first whether it has."""
    options = {"subject": "Toy 1", "input": {"id": 7}, **options}

    def begin() -> None:
        if not Process.objects.filter(workflow=workflow).exists():
            submit(workflow, **options)

    return begin


def was_in_doubt(step: str) -> bool:
    """Return whether a call of a step was cut off: what it did, no later refusal can tell."""
    return Journal.objects.filter(step__name=step, event="expired").exists()


def assert_ended(after: Aftermath, state: str, effects: dict[str, int], **steps: str) -> None:
    """Assert how the one process ended, and what was done outside: exactly."""
    process = Process.objects.get()
    found = dict(Step.objects.values_list("name", "state"))
    done = services().count()
    del done["mishap"]
    assert (process.state, found, dict(done)) == (state, steps, effects)
    after.assert_told_everything()
