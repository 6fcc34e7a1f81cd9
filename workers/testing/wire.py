"""A broker in memory: the test delivers, loses, doubles or reorders what was sent."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from unittest import mock
from uuid import UUID

import msgspec
from django.db import connection, transaction

from workers import scheduler, supervisor
from workers.agent.call_pool import Work
from workers.conf import sas
from workers.definitions import discovery
from workers.exceptions import BrokerRefused
from workers.models import Process, Step
from workers.notify import relay, threads
from workers.notify.senders import StatusMessage
from workers.protocol.messages import Reply
from workers.store import duties, live_workers
from workers.store.claims import find_work
from workers.store.db import dialect
from workers.testing import agent_processes
from workers.testing.agent_processes import CALL, PROCESSES, REPLY
from workers.testing.clock import Clock
from workers.testing.scripted_agents import WorkerDied
from workers.testing.timers import JUST_AFTER, Timer, schedules, timers
from workers.wire import dispatch, wake_ups


@dataclass(frozen=True, slots=True)
class Sent:
    """One message on the wire."""

    task: str
    body: list[Any]
    queue: str
    options: dict[str, Any]

    @property
    def works(self) -> list[Work]:
        """Return the calls that a process has to make, of a ``CALL``."""
        return list(self.body[0])

    @property
    def requests(self) -> list[dict[str, Any]]:
        """Return the requests of these calls."""
        requests = [msgspec.to_builtins(work.request) for work in self.works]
        return [one | {"claim_id": UUID(one["claim_id"]).hex} for one in requests]

    @property
    def replies(self) -> list[Reply]:
        """Return the replies that a process has to settle, of a ``REPLY``."""
        return list(self.body[0])


def passes(wire: "Wire", message: Sent) -> None:
    """Let a message arrive after all that wait."""
    wire.messages.append(message)


@dataclass
class Wire:
    """The messages sent and not yet delivered, in order.

    Among them is what agent processes hold in memory: ``CALL``, the calls of claims that one has
    just started, and ``REPLY``, replies that one has to settle.  Dropped, their process has died;
    delayed, it is slow; no broker refuses them.
    """

    messages: list[Sent] = field(default_factory=list)
    #: While True, every message is refused, as by a broker that is down.
    is_down: bool = False
    #: Carries each message that is sent; ``broken_wire`` puts mishaps here.
    carry: Callable[["Wire", Sent], None] = passes
    #: Messages that a worker is working on.
    unacknowledged: list[Sent] = field(default_factory=list)
    #: Messages under way, and when they arrive.
    delayed: list[tuple[datetime, Sent]] = field(default_factory=list)
    #: Status messages sent to submitters, in order.
    told: list[StatusMessage] = field(default_factory=list)
    #: Messages about incidents sent to routes, in order, if the desk is installed.
    told_of_incidents: list[Any] = field(default_factory=list)
    #: Functions that run the tasks, by name.
    tasks: dict[str, Callable[..., object]] = field(default_factory=lambda: dict(_TASKS))
    #: Tasks that look after the installation: no test waits for them.
    not_carried: set[str] = field(default_factory=set)
    #: Claims taken, calls made and replies settled so far.
    moves: int = 0

    def take(self, name: str, body: list[Any], to: str, **options: Any) -> None:
        if name in self.not_carried:
            return
        if self.is_down:
            raise BrokerRefused("the wire is down")
        if name == dispatch.TAKE and any(one.body == body for one in self.of(name)):
            # One wake-up is as good as many.
            return
        self.carry(self, Sent(name, body, to, options))

    def hold(self, name: str, items: Sequence[Any], of: str) -> None:
        """Note what an agent process holds in memory."""
        self.carry(self, Sent(name, [items], of, {}))

    def of(self, task: str) -> list[Sent]:
        return [message for message in self.messages if message.task == task]

    def deliver(self, message: Sent) -> None:
        """Run the task of a message, and take the message off the wire.

        If the worker dies over it, the message is back on the wire, to be delivered again.
        """
        if message in self.messages:
            self.messages.remove(message)
        if message.task in IN_MEMORY:
            self.moves += 1
            with suppress(WorkerDied):
                IN_MEMORY[message.task](self, message.body[0])
            return
        self.unacknowledged.append(message)
        try:
            if message.task == dispatch.TAKE:
                agent_processes.take(self, message.body[0])
            else:
                # As from a broker: keys are text, and the copy is the task's own.
                self.tasks[message.task](*json.loads(json.dumps(message.body)))
        except WorkerDied:
            self.messages.append(message)
        finally:
            self.unacknowledged.remove(message)

    def deliver_all(self, task: str) -> int:
        """Deliver the messages of one task that are on the wire now; return how many."""
        messages = self.of(task)
        for message in messages:
            self.deliver(message)
        return len(messages)

    def drop_all(self) -> int:
        """Lose every message; return how many."""
        count, self.messages = len(self.messages), []
        return count

    def run_until_idle(self, rounds: int | None = None) -> None:
        """Look and deliver until nothing moves; raise if that does not end."""
        self._arrive()
        deliveries = 0
        rounds = rounds or MOST_DELIVERIES
        while deliveries < rounds or deliveries < (rounds := _most_deliveries(rounds)):
            before = self.moves
            # It looks: a submission inside a call sends no wake-up in a test's transaction.
            # Due steps for which it only wakes processes may be held, or have no room.
            self.moves += scheduler.advance() - len(find_work.due_agents())
            while self.messages and deliveries < rounds:
                deliveries += 1
                self.deliver(self.messages[0])
            if self.moves == before and not self.messages:
                return
        raise AssertionError(f"messages are still moving after {rounds} deliveries")

    def run_until_settled(self, clock: Clock, jumps: int | None = None) -> None:
        """Run the whole system until nothing is due any more, however long that takes.

        Delivers all messages; when nothing moves, the clock jumps to the next instant at which
        something is due, where a supervisor sweeps and a scheduler polls.  Raises
        ``AssertionError``, which lists what still waits and for what, if that does not end.
        Leaves alone what waits for something else than time.
        """
        is_polled = False
        jumps = jumps or FEWEST_JUMPS + JUMPS_OF_A_STEP * Step.objects.count()
        supervisor.sweep()
        for _ in range(jumps):
            self.run_until_idle()
            due = self._due(clock.now)
            if due:
                self._let_pass(clock, due[0].at)
            elif is_polled:
                return
            else:
                # A poll may find more.
                self._let_pass(clock, clock.now + timedelta(seconds=sas.poll_seconds))
            is_polled = not due
        self.run_until_idle()
        waiting = "\n".join(f"  {timer.at}  {timer.event}" for timer in self._due(clock.now))
        wire = "\nThe wire is down." if self.is_down else ""
        raise AssertionError(
            f"It is {clock.now} after {jumps} jumps, and still due is:\n{waiting}{wire}"
        )

    def run_for(self, clock: Clock, **duration: float) -> None:
        """Run the whole system for ``seconds``, ``minutes``, ``hours``, ``days`` of its time."""
        end = clock.now + timedelta(**duration)
        supervisor.sweep()
        self.run_until_idle()
        while clock.now < end:
            due = [*self._due(clock.now), *schedules(clock.now)]
            self._let_pass(clock, min([end, *(timer.at for timer in due)]))
            self.run_until_idle()

    def states(self, process: Process) -> dict[str, str]:
        """Return the state of every step by name, from the database."""
        return dict(Step.objects.filter(process=process).values_list("name", "state"))

    def _arrive(self) -> None:
        if not self.delayed:
            return
        now = dialect.read_clock()
        self.messages += [message for at, message in self.delayed if at <= now]
        self.delayed = [(at, message) for at, message in self.delayed if at > now]

    def _due(self, now: datetime) -> list[Timer]:
        arrivals = [Timer(at, f"{message.task} arrives") for at, message in self.delayed]
        return sorted([*timers(now), *arrivals], key=lambda timer: timer.at)

    def _let_pass(self, clock: Clock, until: datetime) -> None:
        """Move the clock, with sweeps on the way as Beat would trigger them.

        Without them the next sweep would take the jump for an outage, and extend the deadlines
        that passed meanwhile.  Nothing is due before ``until``, so only the sweeps since the first
        deadline could have passed matter.
        """
        step = timedelta(seconds=sas.sweep_seconds)
        first = until - timedelta(seconds=sas.expiry_grace_seconds) - 2 * JUST_AFTER
        while first < until:
            if first > clock.now:
                clock.travel_to(first)
                supervisor.sweep()
            first += step
        clock.travel_to(until)
        supervisor.sweep()


#: Deliveries after which a run counts as endless: at least, and for each step, because steps may
#: have hundreds of children.
MOST_DELIVERIES, DELIVERIES_OF_A_STEP = 1000, 10


def _most_deliveries(rounds: int) -> int:
    if rounds < MOST_DELIVERIES:
        return rounds
    return max(rounds, DELIVERIES_OF_A_STEP * Step.objects.count())


#: Jumps of the clock after which a run counts as endless: at least, and for each step, because
#: hundreds may wait for an agent's rate one by one.
FEWEST_JUMPS, JUMPS_OF_A_STEP = 500, 10
#: What processes hold in memory.
IN_MEMORY: dict[str, Callable[["Wire", Any], object]] = {
    CALL: agent_processes.call,
    REPLY: agent_processes.settle,
}
_TASKS: dict[str, Callable[..., object]] = {
    dispatch.ADVANCE: scheduler.advance,
    dispatch.SWEEP: supervisor.sweep,
    dispatch.REPORT: threads.run_now,
}


#: Additions of installed apps to a wire, from their modules ``wire_in_tests``.
_extensions: list[Callable[[Wire], AbstractContextManager[None]]] = []


def extend_wire(extend: Callable[[Wire], AbstractContextManager[None]]) -> None:
    """Enter a context manager with each wire, for an app's own tasks and senders."""
    _extensions.append(extend)


def _leave_to_the_poll(self: dispatch.WakeUp, seconds: float) -> None:
    """Send nothing: real time means nothing here, and the test may be over by then."""


def _send_as_if_committed(send: Callable[[], None]) -> None:
    """Send a hint at once if only a test's own transaction is open: it is never committed."""
    blocks = connection.atomic_blocks
    if blocks and all(getattr(block, "_from_testcase", False) for block in blocks):
        send()
    else:
        transaction.on_commit(send, robust=True)


@contextmanager
def wired() -> Iterator[Wire]:
    """Send every message of this process to a wire in memory during a block."""
    discovery.import_modules("wire_in_tests")
    wire = Wire()
    with ExitStack() as stack:
        for owner, name, value in (
            (dispatch, "_send", wire.take),
            (wake_ups, "on_commit", _send_as_if_committed),
            # From the caller's own thread: nothing may arrive after the test's assertions.
            (dispatch.WakeUp, "later", dispatch.WakeUp.send),
            (dispatch.WakeUp, "after", _leave_to_the_poll),
            (dispatch, "wake_agents_later", dispatch.wake_agents),
            (dispatch, "wake_agents_after", lambda queue, seconds: None),
            (live_workers, "assumed_processes", PROCESSES),
            # Every sweep and every poll performs all that is registered for it.
            (duties, "REST_SECONDS", 0.0),
        ):
            stack.enter_context(mock.patch.object(owner, name, value))
        senders = dict.fromkeys(relay.senders, wire.told.append)
        stack.enter_context(mock.patch.dict(relay.senders, senders))
        for extend in _extensions:
            stack.enter_context(extend(wire))
        yield wire
