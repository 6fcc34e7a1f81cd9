"""A shift: what one agent process calls from a message's first claims until it is idle again.

While its calls wait, the process takes what else there is to do, as long as it has room: messages
of its queue, and, where it has settled replies, due steps, which it claims and starts in one write.
It ends after a while, so that whatever else waits for the process gets its turn.

Only the rows count: should the process die, its claims expire, and what it has settled stays.
"""

import logging
import os
import signal
from collections import defaultdict
from collections.abc import Sequence
from time import monotonic, sleep
from typing import Any

import msgspec
from celery.exceptions import SoftTimeLimitExceeded
from django.db import InterfaceError, OperationalError

from workers import scheduler
from workers.agent import call_pool, replies, runner
from workers.agent.call_pool import Calls, EndedCall, Work
from workers.agent.replies import Answer
from workers.definitions import registry
from workers.definitions.agent import Agent, Deadline
from workers.exceptions import BrokerRefused, MessageError, UnknownAgent, first_line
from workers.protocol.messages import Bundle, Reply
from workers.runtime import db_connections, worker_pulse
from workers.runtime.soft_limit import soft_limit_after, soft_limit_masked
from workers.runtime.worker_identity import me
from workers.scheduler.passing_on import PASS_ON_SECONDS
from workers.store import live_code
from workers.store.claims import release
from workers.store.claims.claim_steps import Claim, Room
from workers.wire import bundle_dispatch, dispatch, queue_drain

#: For how long a process takes more, where its worker serves agents alone.
TAKING_SECONDS = dispatch.TAKING_SECONDS
#: The same where the worker serves other queues, whose messages wait for a process.
BESIDE_OTHERS_SECONDS = 2.0
#: The same where nobody tells the process that its worker ends.
UNTOLD_SECONDS = 1.0
#: How often the processes of a worker look into their queue, all together.
LOOK_SECONDS = 0.005
LEAST_LOOK_SECONDS = 0.01
#: Time in which nothing is taken after the database or the broker was away.
PAUSE_SECONDS = 1.0
#: A call that goes on for so long past its complete-by ends its process.
OVERSTAY_SECONDS = dispatch.HARD_LIMIT_MARGIN_SECONDS

log = logging.getLogger(__name__)


def run(bundle: Bundle) -> None:
    """Run a message's claims and whatever else this process has room for meanwhile.

    Raises whatever the database raises when the message's claims could not be started: of those
    nothing was done, and the message may be delivered again.
    """
    _run(bundle, takes=True)


def perform(bundle: Bundle) -> int:
    """Run the claims of a bundle that still hold, and no others; return how many replied.

    All replies are sent.  Raises as ``run`` does.
    """
    return _run(bundle, takes=False)


def _run(bundle: Bundle, *, takes: bool) -> int:
    agent = registry.agent(bundle.agent)
    if agent.is_serial or agent.is_local:
        return runner.perform_alone(bundle, replies.settle_and_send if takes else None)
    shift = Shift(agent.queue, takes=takes, is_alone=bundle.is_alone)
    shift.begin(bundle)
    return shift.work()


def take(queue: str) -> None:
    """Take due steps of a queue, and whatever else this process has room for meanwhile."""
    shift = Shift(queue, takes=True)
    shift.take_due()
    shift.work()


class Shift:
    """One task's calls; see the module."""

    def __init__(self, queue: str, *, takes: bool, is_alone: bool = False) -> None:
        self._queue, self._takes, self._is_alone = queue, takes, is_alone
        self._calls = Calls(_make)
        self._pulse = worker_pulse.pulse
        self._began = monotonic()
        self._taking_seconds = self._how_long()
        self._look_at = self._began + self._look_seconds()
        self._replied = 0
        #: Time without a look into the queue, where it holds what only others know.
        self._rest_seconds = 0.0
        #: What must run beside no other: it waits for this process's calls to end.
        self._alone: Bundle | None = None
        #: What was started by a write whose answer is lost, and the steps of it that were begun.
        self._unanswered: list[Room] = []

    def work(self) -> int:
        """Make the calls and take others, until all are over; return how many replied."""
        try:
            while self._calls.left and not self._calls.are_all_overdue():
                self._go_on()
        except SoftTimeLimitExceeded:
            log.warning("soft_limit_reached", extra={"silent": self._calls.left})
        if self._calls.left:
            self._outstay()
        self._release_unanswered()
        if self._alone is not None:
            # Celery counts this task's limit, which is a later one.
            with soft_limit_after(self._alone.timeout_seconds):
                self._replied += _run(self._alone, takes=self._takes)
        return self._replied

    def _go_on(self) -> None:
        ended = self._calls.take(self._seconds_to_wait())
        if self._is_taking() and monotonic() >= self._look_at:
            # First, with the room that has just come free: due steps would always fill it.
            self._take_messages()
            self._look_at = monotonic() + max(self._look_seconds(), self._rest_seconds)
            self._rest_seconds = 0.0
        self._hand_over(ended)
        if self._unanswered:
            self._release_unanswered()

    # What it takes

    def _how_long(self) -> float:
        if self._pulse is None:
            return UNTOLD_SECONDS
        is_for_agents_alone = set(self._pulse.queues) <= registry.queues()
        return TAKING_SECONDS if is_for_agents_alone else BESIDE_OTHERS_SECONDS

    def _look_seconds(self) -> float:
        processes = self._pulse.processes if self._pulse else 1
        return max(LEAST_LOOK_SECONDS, LOOK_SECONDS * processes)

    def _is_taking(self) -> bool:
        """Say whether more is begun here: not while something waits that runs alone, say."""
        return (
            self._takes
            and self._alone is None
            and not self._is_alone
            and monotonic() - self._began < self._taking_seconds
            and (self._pulse is None or self._pulse.is_beating())
            and not self._calls.has_overdue()
        )

    def _queues(self) -> list[str]:
        return sorted(set(self._pulse.queues) & registry.queues()) if self._pulse else []

    def _room(self) -> Room:
        """Return what this process can begin now of agents whose calls go side by side."""
        is_taking, queues = self._is_taking(), self._queues() or [self._queue]

        def calls(name: str) -> int:
            agent = registry.agent(name) if is_taking and registry.has_agent(name) else None
            if agent is None or agent.queue not in queues or not agent.takes_itself:
                return 0
            return self._calls.room(agent)

        return Room(me("agent"), calls)

    def take_due(self, arguments: Sequence[Any] = ()) -> bool:
        """Claim due steps and begin them, or send what others have room for.  False: no room."""
        if not self._is_taking():
            return False
        room, began = self._room(), monotonic()
        with soft_limit_masked():
            claims = scheduler.take_due(registry.of_queues(self._queues() or [self._queue]), room)
            self._begin_or_send(claims, room, began)
        return True

    def _take_messages(self) -> None:
        accepts = {dispatch.RUN_BUNDLE: self._accept, dispatch.TAKE: self.take_due}
        try:
            for queue in self._queues():
                while self._is_taking():
                    if not queue_drain.take_one(queue, accepts):
                        break
        except (OperationalError, InterfaceError) as error:
            log.warning("taking_paused", extra={"reason": first_line(error)})
            self._look_at = monotonic() + PAUSE_SECONDS

    def _accept(self, arguments: Sequence[Any]) -> bool:
        """Begin the claims of a message.  False: there is no room; somebody else has to."""
        try:
            bundle = Bundle.from_wire(arguments[0] if arguments else None)
            agent = registry.agent(bundle.agent)
        except (MessageError, UnknownAgent) as error:
            if isinstance(error, UnknownAgent) and live_code.is_called(error.name):
                # The next looks would meet it again at once.
                self._rest_seconds = PASS_ON_SECONDS
                return False
            # Its claims are sent again to whoever knows better.
            log.error("bundle_refused", extra={"reason": str(error)})
            return True
        if bundle.is_alone or agent.is_serial:
            self._alone = bundle
            return True
        if not self._calls.room(agent):
            return False
        self.begin(bundle)
        return True

    # What it begins

    def begin(self, bundle: Bundle) -> None:
        """Start a message's claims, as many as there is room for; pass the others on."""
        agent = registry.agent(bundle.agent)
        room = self._calls.room(agent)
        mine, others = bundle.requests[:room], bundle.requests[room:]
        began = monotonic()
        # A local agent starts its claims itself, when their turn has come.
        started = mine if agent.is_local else runner.start(agent, mine, bundle)
        deadline = Deadline(bundle.timeout_seconds, began)
        self._calls.begin([Work(agent, request, deadline, bundle) for request in started])
        self._pass_on(bundle, others)

    def _begin_or_send(self, claims: Sequence[Claim], room: Room, began: float) -> None:
        """Call for the claims that this process has started, and send the others."""
        here = [claim for claim in claims if claim.is_started]
        try:
            bundles = scheduler.begin_here(here) if here else []
            room.begun = {claim.step_id for claim in here}
        except BaseException:
            room.is_answered = False
            raise
        finally:
            if not room.is_answered:
                self._unanswered.append(room)
        for bundle in bundles:
            agent = registry.agent(bundle.agent)
            deadline = Deadline(bundle.timeout_seconds, began)
            self._calls.begin([Work(agent, one, deadline, bundle) for one in bundle.requests])
        if len(here) < len(claims):
            scheduler.send([claim for claim in claims if not claim.is_started])

    def _pass_on(self, bundle: Bundle, others: Sequence[Any]) -> None:
        """Send claims that were not begun to whoever has room; refused, they count as lost."""
        if not others:
            return
        with soft_limit_masked():
            try:
                bundle_dispatch.send(msgspec.structs.replace(bundle, requests=tuple(others)))
            except BrokerRefused as error:
                log.warning(
                    "unbegun_claims_refused", extra={"agent": bundle.agent, "reason": str(error)}
                )

    # What becomes of it

    def _hand_over(self, ended: Sequence[EndedCall]) -> None:
        settle = self._settle if self._takes else None
        answers: dict[Agent, list[Answer]] = defaultdict(list)
        filed = []
        for one in ended:
            if one.work.agent.is_local:
                filed.append(one.work.request.step_id)
            elif one.reply is not None:
                answers[one.work.agent].append(Answer(one.reply, one.work.deadline))
        replies.settle_filed(filed, settle)
        for agent, some in answers.items():
            self._replied += replies.hand_over(agent, some, settle)

    def _settle(self, some: Sequence[Reply], filed: bool) -> None:
        """Settle replies and begin what there is room for here; send what there is not."""
        room, began = self._room(), monotonic()
        claims: list[Claim] = []
        try:
            scheduler.settle(some, filed=filed, own_room=room, forward=claims.extend)
        except BaseException:
            room.is_answered = False
            self._unanswered.append(room)
            raise
        self._begin_or_send(claims, room, began)

    def _release_unanswered(self) -> None:
        """Give back what was started by writes whose answers are lost: nobody calls for it."""
        try:
            while self._unanswered:
                room = self._unanswered[-1]
                release.unbegun(room.delivery, room.begun, me("agent"))
                self._unanswered.pop()
        except (OperationalError, InterfaceError):
            # They expire: an attempt each.
            log.warning("unanswered_claims_left", exc_info=True)

    # How it ends

    def _seconds_to_wait(self) -> float:
        wait = 1.0
        if self._is_taking() and self._pulse is not None:
            wait = min(wait, max(0.0, self._look_at - monotonic()))
        return wait

    def _outstay(self) -> None:
        """Keep the process while calls run on past their deadline, and say nothing for them.

        A client with a total deadline ends them at once.  One that has none is ended with its
        process, which its worker replaces.
        """
        names = self._calls.overdue_agents()
        log.warning("deadline_passed", extra={"agents": names, "calls": self._calls.left})
        call_pool.threads.drop()
        self._calls.give_up()
        while self._calls.left:
            try:
                self._calls.take(1)
            except SoftTimeLimitExceeded:
                sleep(0.05)
            if self._pulse is not None and self._calls.overdue_seconds() > OVERSTAY_SECONDS:
                log.error("process_ended_for_calls", extra={"agents": names})
                os.kill(os.getpid(), signal.SIGKILL)


def _make(work: Work) -> Reply | None:
    if not work.agent.is_local:
        return runner.call(work)
    try:
        # On the thread's own connection.
        with db_connections.kept():
            runner.perform_local(work.agent, work.request, work.bundle)
    except (OperationalError, InterfaceError) as error:
        # Not started, it is sent again; started, it expires.
        log.warning("database_away", extra={"reason": first_line(error)})
    return None
