"""A shift: the calls of one agent process from a message's first claims until it is idle again.

While its calls wait, the process takes more work, as long as it has room: messages of its queue
and, after settling replies, due steps, which it claims and starts in one write.  It ends after a
while, so that other tasks of the process get their turn.

Only the rows count: if the process dies, its claims expire, and settled replies stay settled.
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

#: How long a process takes more work if its worker serves only agents' queues.
TAKING_SECONDS = dispatch.TAKING_SECONDS
#: The same if the worker serves other queues, whose messages wait for a process.
BESIDE_OTHERS_SECONDS = 2.0
#: The same if the process cannot see that its worker is ending.
UNTOLD_SECONDS = 1.0
#: How often the processes of a worker look into their queue, all together.
LOOK_SECONDS = 0.005
LEAST_LOOK_SECONDS = 0.01
#: Pause in taking work after the database or the broker was unavailable.
PAUSE_SECONDS = 1.0
#: How long a call may run past its complete-by before its process is killed.
OVERSTAY_SECONDS = dispatch.HARD_LIMIT_MARGIN_SECONDS

log = logging.getLogger(__name__)


def run(bundle: Bundle) -> None:
    """Run a message's claims, and more work that this process has room for meanwhile.

    Raises the database's error if the message's claims could not be started: then none of them was
    called, and the message may be delivered again.
    """
    _run(bundle, takes=True)


def perform(bundle: Bundle) -> int:
    """Run only the claims of a bundle that still hold; return how many replied.

    All replies are sent.  Raises the same as ``run``.
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
    """Claim due steps of a queue, and take more work that this process has room for meanwhile."""
    shift = Shift(queue, takes=True)
    shift.take_due()
    shift.work()


class Shift:
    """The calls of one task; see the module."""

    def __init__(self, queue: str, *, takes: bool, is_alone: bool = False) -> None:
        self._queue, self._takes, self._is_alone = queue, takes, is_alone
        self._calls = Calls(_make)
        self._pulse = worker_pulse.pulse
        self._began = monotonic()
        self._taking_seconds = self._how_long()
        self._look_at = self._began + self._look_seconds()
        self._replied = 0
        #: Time without a look into the queue, if it holds messages that only other workers know,
        #: or broker or database do not answer.
        self._rest_seconds = 0.0
        #: A bundle that must run alone: it waits for this process's calls to end.
        self._alone: Bundle | None = None
        #: Starts whose answer was lost, each with those of its steps that were called.
        self._unanswered: list[Room] = []

    def work(self) -> int:
        """Make the calls and take more, until all have ended; return how many replied."""
        try:
            while self._calls.left and not self._calls.are_all_overdue():
                self._go_on()
        except SoftTimeLimitExceeded:
            log.warning("soft_limit_reached", extra={"silent": self._calls.left})
        if self._calls.left:
            self._outstay()
        self._release_unanswered()
        if self._alone is not None:
            # Celery's limit for this task is later.
            with soft_limit_after(self._alone.timeout_seconds):
                self._replied += _run(self._alone, takes=self._takes)
        return self._replied

    def _go_on(self) -> None:
        calls = self._calls.take(self._seconds_to_wait())
        if self._is_taking() and monotonic() >= self._look_at:
            # Messages first, with the room that has just come free: due steps would always fill it.
            self._take_messages()
            self._look_at = monotonic() + max(self._look_seconds(), self._rest_seconds)
            self._rest_seconds = 0.0
        self._hand_over(calls)
        if self._unanswered:
            self._release_unanswered()

    # Taking work

    def _how_long(self) -> float:
        if self._pulse is None:
            return UNTOLD_SECONDS
        is_for_agents_alone = set(self._pulse.queues) <= registry.queues()
        return TAKING_SECONDS if is_for_agents_alone else BESIDE_OTHERS_SECONDS

    def _look_seconds(self) -> float:
        processes = self._pulse.processes if self._pulse else 1
        return max(LEAST_LOOK_SECONDS, LOOK_SECONDS * processes)

    def _is_taking(self) -> bool:
        """Say whether this process takes more work; for example, not while a lone bundle waits."""
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
        """Return the room for agents whose calls run concurrently."""
        is_taking, queues = self._is_taking(), self._queues() or [self._queue]

        def calls(name: str) -> int:
            agent = registry.agent(name) if is_taking and registry.has_agent(name) else None
            if agent is None or agent.queue not in queues or not agent.takes_itself:
                return 0
            return self._calls.room(agent)

        return Room(me("agent"), calls)

    def take_due(self, arguments: Sequence[Any] = ()) -> bool:
        """Claim due steps and start them here, or send those for others.  False: takes no work."""
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
                    is_taken = queue_drain.take_one(queue, accepts)
                    if is_taken is None:
                        self._rest_seconds = PAUSE_SECONDS
                        return
                    if not is_taken:
                        break
        except (OperationalError, InterfaceError) as error:
            log.warning("taking_paused", extra={"reason": first_line(error)})
            self._rest_seconds = PAUSE_SECONDS

    def _accept(self, arguments: Sequence[Any]) -> bool:
        """Start the claims of a message.  False: there is no room; another process has to."""
        try:
            bundle = Bundle.from_wire(arguments[0] if arguments else None)
            agent = registry.agent(bundle.agent)
        except (MessageError, UnknownAgent) as error:
            if isinstance(error, UnknownAgent) and live_code.is_called(error.name):
                # The next looks would find it again at once.
                self._rest_seconds = PASS_ON_SECONDS
                return False
            # Its claims will be sent again, to a worker that may know it.
            log.error("bundle_refused", extra={"reason": str(error)})
            return True
        if bundle.is_alone or agent.is_serial:
            self._alone = bundle
            return True
        if not self._calls.room(agent):
            return False
        self.begin(bundle)
        return True

    # Starting calls

    def begin(self, bundle: Bundle) -> None:
        """Start as many of a message's claims as there is room for; send the others again."""
        agent = registry.agent(bundle.agent)
        room = self._calls.room(agent)
        accepted, rest = bundle.requests[:room], bundle.requests[room:]
        began = monotonic()
        # A local agent starts its claims itself, when it is their turn.
        started = accepted if agent.is_local else runner.start(agent, accepted, bundle)
        deadline = Deadline(bundle.timeout_seconds, began)
        self._calls.begin([Work(agent, request, deadline, bundle) for request in started])
        self._pass_on(bundle, rest)

    def _begin_or_send(self, claims: Sequence[Claim], room: Room, began: float) -> None:
        """Make the calls of the claims that this process has started, and send the others."""
        started = [claim for claim in claims if claim.is_started]
        try:
            bundles = scheduler.begin_here(started) if started else []
            room.begun = {claim.step_id for claim in started}
        except BaseException:
            room.is_answered = False
            raise
        finally:
            if not room.is_answered:
                self._unanswered.append(room)
        for bundle in bundles:
            agent = registry.agent(bundle.agent)
            deadline = Deadline(bundle.timeout_seconds, began)
            self._calls.begin([Work(agent, r, deadline, bundle) for r in bundle.requests])
        if len(started) < len(claims):
            scheduler.send([claim for claim in claims if not claim.is_started])

    def _pass_on(self, bundle: Bundle, requests: Sequence[Any]) -> None:
        """Send claims that were not started to other processes; if refused, they count as lost."""
        if not requests:
            return
        with soft_limit_masked():
            try:
                bundle_dispatch.send(msgspec.structs.replace(bundle, requests=tuple(requests)))
            except BrokerRefused as error:
                log.warning(
                    "unbegun_claims_refused", extra={"agent": bundle.agent, "reason": str(error)}
                )

    # Handing over replies

    def _hand_over(self, ended: Sequence[EndedCall]) -> None:
        settle = self._settle if self._takes else None
        answers: dict[Agent, list[Answer]] = defaultdict(list)
        filed = []
        for call in ended:
            if call.work.agent.is_local:
                filed.append(call.work.request.step_id)
            elif call.reply is not None:
                answers[call.work.agent].append(Answer(call.reply, call.work.deadline))
        replies.settle_filed(filed, settle)
        for agent, agent_answers in answers.items():
            self._replied += replies.hand_over(agent, agent_answers, settle)

    def _settle(self, batch: Sequence[Reply], filed: bool) -> None:
        """Settle replies; start next steps here while there is room, and send the others."""
        room, began = self._room(), monotonic()
        claims: list[Claim] = []
        try:
            scheduler.settle(batch, filed=filed, own_room=room, forward=claims.extend)
        except BaseException:
            room.is_answered = False
            self._unanswered.append(room)
            raise
        self._begin_or_send(claims, room, began)

    def _release_unanswered(self) -> None:
        """Release claims started by writes whose answers were lost: no call is made for them."""
        try:
            while self._unanswered:
                room = self._unanswered[-1]
                release.unbegun(room.delivery, room.begun, me("agent"))
                self._unanswered.pop()
        except (OperationalError, InterfaceError):
            # They expire, which costs an attempt each.
            log.warning("unanswered_claims_left", exc_info=True)

    # Ending

    def _seconds_to_wait(self) -> float:
        wait = 1.0
        if self._is_taking() and self._pulse is not None:
            wait = min(wait, max(0.0, self._look_at - monotonic()))
        return wait

    def _outstay(self) -> None:
        """Keep the process while calls run past their deadline, and send no replies for them.

        A client with a total deadline ends them at once.  One without it is ended with its process,
        which its worker replaces.
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
        # Uses the thread's own connection.
        with db_connections.kept():
            runner.perform_local(work.agent, work.request, work.bundle)
    except (OperationalError, InterfaceError) as error:
        # A claim that was not started is sent again; a started one expires.
        log.warning("database_away", extra={"reason": first_line(error)})
    return None
