"""Running a bundle: start its claims, call the agent, reply, and be silent past the deadline."""

import logging
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, nullcontext
from functools import partial
from time import monotonic, sleep
from uuid import uuid4

import msgspec
from celery.exceptions import SoftTimeLimitExceeded
from django.db import InterfaceError, OperationalError, connection

from workers.agent.call_pool import Calls
from workers.conf import sas
from workers.definitions import registry
from workers.definitions.agent import Agent, Call, Deadline, Deferred
from workers.definitions.effects import Effect
from workers.exceptions import BrokerRefused, DeadlinePassed, Fault, Transient, Unavailable
from workers.http.client import one_try
from workers.protocol.messages import Bundle, Reply, Request, parcels, storable
from workers.runtime.failpoints import around, durable
from workers.runtime.soft_limit import block_soft_limit, soft_limit_masked
from workers.runtime.worker_identity import me
from workers.store.claims import claim_steps
from workers.store.flow import spend_rate
from workers.store.settle import filed_replies
from workers.wire import dispatch

#: Time in which the first calls of a deep bundle must end for those behind them to begin here.
QUICK_SECONDS = 0.025
#: Time between two tries to file a reply.
FILE_AGAIN_SECONDS = 0.5

log = logging.getLogger(__name__)


#: Settles the last replies of a bundle in this process; whatever it raises, they are sent then.
SettleHere = Callable[[Sequence[Reply]], None]


class _TooLate(Exception):
    """The claim no longer holds: the transaction must be rolled back."""


def perform(bundle: Bundle, settle_here: SettleHere | None = None) -> int:
    """Run the claims of a bundle that still hold; return how many replied.

    Without ``settle_here`` the Scheduler gets all replies.

    A claim past its deadline replies nothing, sends nothing and writes nothing.  Raises
    whatever the database raises when claims could not be started: of those nothing was done,
    the others are started for good, and the message may be delivered again.
    """
    agent = registry.agent(bundle.agent)
    if agent.is_local:
        return _perform_one_by_one(agent, bundle)
    if agent.is_serial:
        # One a bundle, unless it was sent before the agent became serial.
        return sum(_perform_here(agent, request, bundle) for request in bundle.requests)
    return _perform_side_by_side(agent, bundle, settle_here)


def _start(agent: Agent, requests: Sequence[Request], bundle: Bundle) -> list[Request]:
    """Start claims, count their calls where the agent has a rate; return those that hold."""
    wanted = [(request.step_id, request.claim_id) for request in requests]
    with soft_limit_masked():
        if bundle.is_rated:
            # One in doubt is asked after, and then perhaps called.
            asked_first = agent.effect == Effect.QUERYABLE
            calls = sum(1 + (asked_first and request.in_doubt) for request in requests)
            spend_rate.spend(agent.name, calls)
        started = claim_steps.start(
            wanted, timeout_seconds=bundle.timeout_seconds, worker=me("agent"), delivery=uuid4()
        )
    return [request for request in requests if request.step_id in started]


class _Threads:
    """The process's threads for agent calls, dropped as soon as one overstays its deadline.

    Kept between bundles because making threads costs more than a short call; made anew
    after a fork, which copies none.
    """

    def __init__(self) -> None:
        self._pool: ThreadPoolExecutor | None = None
        self._pid = 0

    def get(self, wanted: int) -> ThreadPoolExecutor:
        if self._pool is None or self._pid != os.getpid() or self._pool._max_workers < wanted:
            self._pool = ThreadPoolExecutor(
                max(wanted, 20), thread_name_prefix="agent", initializer=block_soft_limit
            )
            self._pid = os.getpid()
        return self._pool

    def drop(self) -> None:
        self._pool = None


_threads = _Threads()


def _perform_side_by_side(agent: Agent, bundle: Bundle, settle_here: SettleHere | None) -> int:
    """Run calls in threads: as many as go side by side, and those behind them where it is quick.

    No claim's time is to be used up by waiting for a thread, so none starts that would wait: the
    pace of the first says how many behind them would not.
    """
    width = agent.bundle_limit or int(sas.bundle_limit)
    first, behind = bundle.requests[:width], bundle.requests[width:]
    deadline = Deadline(bundle.timeout_seconds)
    started = _start(agent, first, bundle)
    calls = _calls(agent, started, deadline, width, bundle)
    replied = 0
    try:
        calls.begin()
        if behind:
            began = monotonic()
            calls.wait_until_over(QUICK_SECONDS)
            took = monotonic() - began
            replies = calls.take(0)
            is_quick = len(replies) == len(started) > 0
            is_well = is_quick and all(reply.fault is None for reply in replies)
            goes_on = is_well and deadline.remaining() > bundle.timeout_seconds / 2
            more = _more_at_this_pace(len(started), took) if goes_on else 0
            if not more or agent.effect == Effect.UNSAFE:
                # Of what must not be repeated nothing is kept back.
                replied += _reply(agent, replies, deadline)
                replies = []
            if more:
                try:
                    started = _start(agent, behind[:more], bundle)
                    calls = _calls(agent, started, deadline, width, bundle)
                    calls.begin()
                    _pass_on(bundle, behind[more:], width)
                    if not calls.wait_until_over(QUICK_SECONDS):
                        # Not quick any more: from now on each has a thread of its own.
                        calls.widen()
                    # One message for both parts: it takes the Scheduler half as long.
                    replies = replies + calls.take(0)
                finally:
                    replied += _reply(agent, replies, deadline)
            else:
                _pass_on(bundle, behind, width)
        while not calls.is_over and deadline.remaining() > 0:
            replies = calls.take(deadline.remaining())
            replied += _reply(agent, replies, deadline, settle_here if calls.is_over else None)
    except SoftTimeLimitExceeded:
        log.warning("soft_limit_reached", extra={"agent": agent.name, "silent": calls.left})
    if calls.left:
        _threads.drop()
        _outstay(calls, agent)
    return replied


def _more_at_this_pace(ended: int, seconds: float) -> int:
    """Return how many more calls would end in the quick time, so many having taken ``seconds``."""
    return int(ended * QUICK_SECONDS / max(seconds, 0.0001))


def _calls(
    agent: Agent, started: Sequence[Request], deadline: Deadline, width: int, bundle: Bundle
) -> Calls:
    call = partial(_call, agent, deadline=deadline, is_rated=bundle.is_rated)
    return Calls(_threads.get(len(started)), width, call, started)


def _pass_on(bundle: Bundle, behind: Sequence[Request], width: int) -> None:
    """Send what was not begun to whoever is free.  Refused, it is sent again like what is lost."""
    with soft_limit_masked():
        try:
            for begin in range(0, len(behind), width):
                part = tuple(behind[begin : begin + width])
                dispatch.send_bundle(msgspec.structs.replace(bundle, requests=part))
        except BrokerRefused as error:
            log.warning(
                "unbegun_claims_refused", extra={"agent": bundle.agent, "reason": str(error)}
            )


def _perform_here(agent: Agent, request: Request, bundle: Bundle) -> int:
    """Run one call in the main thread, where the soft limit strikes it."""
    began = monotonic()
    if not _start(agent, [request], bundle):
        return 0
    deadline = Deadline(bundle.timeout_seconds, began)
    try:
        reply = _call(agent, request, deadline=deadline, is_rated=bundle.is_rated)
    except SoftTimeLimitExceeded:
        log.warning("soft_limit_reached", extra={"agent": agent.name, "silent": 1})
        return 0
    return _reply(agent, [reply] if reply is not None else [], deadline)


def _outstay(calls: Calls, agent: Agent) -> None:
    """Keep the task's slot while calls run on past their deadline; say nothing for them.

    A client with a total deadline ends them at once.  One that has none keeps this child
    busy until the hard limit ends it, and with it the call.
    """
    log.warning("deadline_passed", extra={"agent": agent.name, "calls": calls.left})
    calls.give_up()
    while calls.left:
        try:
            calls.wait_until_over(1)
        except SoftTimeLimitExceeded:
            sleep(0.05)


def _call(
    agent: Agent, request: Request, *, deadline: Deadline, is_rated: bool = False
) -> Reply | None:
    """Call the agent once; None: the deadline passed, be silent."""
    call = Call(
        request.subject, request.step, request.key, request.attempt, request.payload, deadline
    )
    try:
        deadline.check()
        # Another try would be a call that nobody has counted.
        with one_try() if is_rated else nullcontext():
            reply = _ask(agent, request, call)
    except SoftTimeLimitExceeded:
        # It is an Exception, too, and no crash of the agent's.
        raise
    except DeadlinePassed:
        return None
    except Fault as fault:
        reply = Reply.of_fault(request, fault)
    except Exception as error:
        log.exception("agent_crashed", extra={"agent": agent.name, "step": request.step})
        crash = Transient("agent_crashed", f"{type(error).__name__}: {error}")
        reply = Reply.of_fault(request, crash)
    return reply if deadline.remaining() > 0 else None


def _ask(agent: Agent, request: Request, call: Call) -> Reply:
    """Call the agent; where an earlier call is in doubt and can be asked after, ask first."""
    answer = None
    if request.in_doubt and agent.effect == Effect.QUERYABLE:
        with around("runner.probe"):
            answer = agent.probe(call)
    if answer is None:
        with around("runner.run"):
            answer = agent.run(call) or {}
    if isinstance(answer, Deferred):
        return Reply.of_deferral(request, answer.to_wire())
    return Reply.of(request, answer, storable(answer))


def _file(reply: Reply, deadline: Deadline) -> bool:
    """File a reply, again and again until complete-by while the database is away."""
    while True:
        try:
            return filed_replies.file(reply, me("agent"))
        except (OperationalError, InterfaceError):
            if deadline.is_past_complete_by():
                raise
            log.warning("filing_again", extra={"step_id": reply.step_id}, exc_info=True)
            connection.close()
            sleep(FILE_AGAIN_SECONDS)


def _reply(
    agent: Agent, replies: list[Reply], deadline: Deadline, settle_here: SettleHere | None = None
) -> int:
    """Hand replies to the Scheduler: as a message, or on their rows where that is not enough."""
    count = len(replies)
    if not replies:
        return 0
    with soft_limit_masked():
        if agent.effect != Effect.UNSAFE:
            if settle_here is not None and _settled(settle_here, replies):
                return count
            replies = _unsent(agent, replies)
        if not replies:
            return count
        filed = sum(_file(reply, deadline) for reply in replies)
        dispatch.nudge()
    return count - len(replies) + filed


def _settled(settle_here: SettleHere, replies: list[Reply]) -> bool:
    """Settle replies here.  False: the Scheduler has to, and finds settled ones stale."""
    try:
        settle_here(replies)
    except Exception:
        log.warning("replies_left_to_scheduler", extra={"replies": len(replies)}, exc_info=True)
        return False
    return True


def _unsent(agent: Agent, replies: list[Reply]) -> list[Reply]:
    """Send replies as messages; return those that the broker did not take."""
    sent = 0
    try:
        for part in parcels([reply.size for reply in replies]):
            dispatch.send_replies(replies[part])
            sent = part.stop
    except BrokerRefused as error:
        log.warning("reply_refused", extra={"agent": agent.name, "reason": str(error)})
    return replies[sent:]


def _perform_one_by_one(agent: Agent, bundle: Bundle) -> int:
    filed = 0
    try:
        for request in bundle.requests:
            filed += _perform_local(agent, request, bundle)
    except SoftTimeLimitExceeded:
        log.warning("soft_limit_reached", extra={"agent": agent.name})
    if filed:
        with soft_limit_masked():
            dispatch.nudge()
    return filed


def _perform_local(agent: Agent, request: Request, bundle: Bundle) -> bool:
    """Run a local agent: its writes, its reply and the journal commit together or not at all."""
    began = monotonic()
    if not _start(agent, [request], bundle):
        return False
    deadline = Deadline(bundle.timeout_seconds, began)
    call = Call(
        request.subject, request.step, request.key, request.attempt, request.payload, deadline
    )
    try:
        # Outermost, so that the soft limit stays masked until the commit has returned.
        with ExitStack() as mask, durable("runner.perform_local"):
            reply = _ask(agent, request, call)
            deadline.check()
            mask.enter_context(soft_limit_masked())
            if not filed_replies.file(reply, me("agent")):
                raise _TooLate
        return True
    except SoftTimeLimitExceeded:
        # It is an Exception, too, and no crash of the agent's.
        raise
    except (_TooLate, DeadlinePassed):
        log.warning("late_writes_rolled_back", extra={"agent": agent.name, "step": request.step})
        return False
    except Fault as fault:
        answer = fault
    except OperationalError as error:
        # The database was busy or away, and with it every effect: nothing happened.
        answer = Unavailable("database_unavailable", str(error)[:200])
    except Exception as error:
        log.exception("agent_crashed", extra={"agent": agent.name, "step": request.step})
        answer = Transient("agent_crashed", f"{type(error).__name__}: {error}")
    with soft_limit_masked():
        return _file(Reply.of_fault(request, answer), deadline)
