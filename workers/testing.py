"""The test kit for workflows: a wire in memory, and time that the test decides.

    def test_my_workflow(wire):
        process = submit("my_workflow", subject="a test", input={})
        wire.run_until_idle()
        assert wire.states(process) == {"first": "processed", "second": "processed"}

Messages are kept in a list instead of a broker; the test delivers, drops, doubles or
reorders them.  Everything else is the real thing: tasks, runtime, store, database.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from workers import dispatch, scheduler, supervisor, tasks
from workers.exceptions import BrokerRefused
from workers.models import Process, Step
from workers.store import sql


@dataclass(frozen=True, slots=True)
class Sent:
    """One message on the wire."""

    task: str
    body: list[Any]
    queue: str
    options: dict[str, Any]

    @property
    def requests(self) -> list[dict[str, Any]]:
        """Return the requests of a bundle."""
        return list(self.body[0]["requests"])


@dataclass
class Wire:
    """A broker in memory: what was sent and not yet delivered, in order."""

    messages: list[Sent] = field(default_factory=list)
    #: While True, every message is refused, as by a broker that is down.
    is_down: bool = False

    def take(self, name: str, body: list[Any], to: str, **options: Any) -> None:
        if self.is_down:
            raise BrokerRefused("the wire is down")
        self.messages.append(Sent(name, body, to, options))

    def of(self, task: str) -> list[Sent]:
        return [message for message in self.messages if message.task == task]

    def deliver(self, message: Sent) -> None:
        """Run the task of a message, which stays on the wire only if it was not taken off."""
        if message in self.messages:
            self.messages.remove(message)
        _TASKS[message.task](*message.body)

    def deliver_all(self, task: str) -> int:
        """Deliver the messages of one task that are on the wire now; return how many."""
        found = self.of(task)
        for message in found:
            self.deliver(message)
        return len(found)

    def drop_all(self) -> int:
        """Lose every message; return how many."""
        lost, self.messages = len(self.messages), []
        return lost

    def run_until_idle(self, rounds: int = 1000) -> None:
        """Look and deliver until nothing moves; raise when that does not come to an end."""
        scheduler.advance()
        for _ in range(rounds):
            if not self.messages:
                return
            self.deliver(self.messages[0])
        raise AssertionError(f"messages are still moving after {rounds} deliveries")

    def states(self, process: Process) -> dict[str, str]:
        """Return the state of every step by name, as the database has it."""
        return dict(Step.objects.filter(process=process).values_list("name", "state"))


#: The siblings that a task would take from its queue are delivered one by one here.
_TASKS: dict[str, Callable[..., object]] = {
    dispatch.RUN_BUNDLE: tasks.run_bundle_now,
    dispatch.SETTLE: tasks.settle_now,
    dispatch.ADVANCE: scheduler.advance,
    dispatch.SWEEP: supervisor.sweep,
}


def _nudge_now() -> None:
    dispatch.nudge()


@contextmanager
def wired() -> Iterator[Wire]:
    """Have every message of this process go to a wire in memory for the time of a block."""
    wire = Wire()
    before = dispatch._send, dispatch.nudge_later
    dispatch._send = wire.take
    # From the caller's own thread: what a test looks at must not arrive after it has looked.
    dispatch.nudge_later = _nudge_now
    try:
        yield wire
    finally:
        dispatch._send, dispatch.nudge_later = before


def pass_time(seconds: float, process: Process | None = None) -> None:
    """Let time pass for the steps of one process, or of all: their instants move back.

    Cheaper and surer than sleeping, and it leaves the database's clock alone.
    """
    steps = Step.objects.all() if process is None else Step.objects.filter(process=process)
    names = ("not_before", "claimed_at", "dispatch_by", "started_at", "complete_by")
    for step in steps:
        moved = {
            name: getattr(step, name) - timedelta(seconds=seconds)
            for name in names
            if getattr(step, name) is not None
        }
        Step.objects.filter(pk=step.pk).update(**moved)


def forget_duties() -> None:
    """Make every periodic duty due again."""
    sql.execute("DELETE FROM workers_lease")
