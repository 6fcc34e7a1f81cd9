"""Running a bundle: start its claims, call the agent, reply, and be silent past the deadline."""

import logging
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, nullcontext
from functools import partial
from time import monotonic, sleep
from uuid import uuid4

import msgspec
from celery.exceptions import SoftTimeLimitExceeded
from django.db import OperationalError

from workers.agent import replies
from workers.agent.call_pool import Calls
from workers.agent.replies import SettleHere
from workers.conf import sas
from workers.definitions import registry
from workers.definitions.agent import Agent, Call, Deadline, Deferred
from workers.definitions.effects import Effect
from workers.exceptions import (
    BrokerRefused,
    DeadlinePassed,
    Fault,
    Transient,
    Unavailable,
    first_line,
    in_a_line,
)
from workers.http.client import one_try
from workers.protocol.messages import Bundle, Reply, Request, storable
from workers.runtime.failpoints import around, durable
from workers.runtime.soft_limit import block_soft_limit, soft_limit_masked
from workers.runtime.worker_identity import me
from workers.store.claims import claim_steps
from workers.store.flow import spend_rate
from workers.store.settle import filed_replies
from workers.wire import dispatch

#: Time in which the first calls of a deep bundle must end for those behind them to begin here.
QUICK_SECONDS = 0.025
#: What counts as an agent's own crash.  A signal may ask the main thread to exit; in any other the
#: agent alone does, and raised on, its exit would end the calls beside it.
IN_MAIN_THREAD = (Exception,)
IN_A_THREAD = (Exception, SystemExit)

log = logging.getLogger(__name__)


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
    return _SideBySide(agent, bundle).perform(settle_here)


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


class _SideBySide:
    """The calls of a bundle in threads: as many as go side by side, then those behind them.

    No claim's time is to be used up by waiting for a thread, so none starts that would wait: the
    pace of the first says how many behind them would not.
    """

    def __init__(self, agent: Agent, bundle: Bundle) -> None:
        self._agent, self._bundle = agent, bundle
        self._width = agent.bundle_limit or int(sas.bundle_limit)
        self._deadline = Deadline(bundle.timeout_seconds)
        self._replied = 0
        self._calls = self._calls_of(bundle.requests[: self._width])

    def perform(self, settle_here: SettleHere | None) -> int:
        """Make the calls; return how many replied."""
        behind = self._bundle.requests[self._width :]
        try:
            self._calls.begin()
            if behind:
                self._go_on_with(behind)
            while not self._calls.is_over and self._deadline.remaining() > 0:
                new = self._calls.take(self._deadline.remaining())
                self._reply(new, settle_here if self._calls.is_over else None)
        except SoftTimeLimitExceeded:
            log.warning(
                "soft_limit_reached",
                extra={"agent": self._agent.name, "silent": self._calls.left},
            )
        if self._calls.left:
            _threads.drop()
            _outstay(self._calls, self._agent)
        return self._replied

    def _calls_of(self, requests: Sequence[Request]) -> Calls:
        """Start claims; return the calls of those that hold."""
        started = _start(self._agent, requests, self._bundle)
        call = partial(
            _call,
            self._agent,
            deadline=self._deadline,
            is_rated=self._bundle.is_rated,
            crashes=IN_A_THREAD,
        )
        return Calls(_threads.get(len(started)), self._width, call, started)

    def _go_on_with(self, behind: Sequence[Request]) -> None:
        """Begin as many of the calls behind the first as would end quickly; pass on the others."""
        began = monotonic()
        self._calls.wait_until_over(QUICK_SECONDS)
        took = monotonic() - began
        first = self._calls.take(0)
        is_quick = len(first) == self._calls.count > 0
        is_well = is_quick and all(reply.fault is None for reply in first)
        goes_on = is_well and self._deadline.remaining() > self._bundle.timeout_seconds / 2
        more = _more_at_this_pace(len(first), took) if goes_on else 0
        if not more or self._agent.effect == Effect.UNSAFE:
            # Of what must not be repeated nothing is kept back.
            self._reply(first)
            first = []
        if more:
            self._begin_more(behind, more, first)
        else:
            self._pass_on(behind)

    def _begin_more(self, behind: Sequence[Request], more: int, kept: list[Reply]) -> None:
        """Begin so many of the calls behind; reply for the quick ones together with ``kept``.

        One message for both parts: it takes the Scheduler half as long.
        """
        try:
            self._calls = self._calls_of(behind[:more])
            self._calls.begin()
            self._pass_on(behind[more:])
            if not self._calls.wait_until_over(QUICK_SECONDS):
                # Not quick any more: from now on each has a thread of its own.
                self._calls.widen()
            kept += self._calls.take(0)
        finally:
            self._reply(kept)

    def _reply(self, new: list[Reply], settle_here: SettleHere | None = None) -> None:
        self._replied += replies.hand_over(self._agent, new, self._deadline, settle_here)

    def _pass_on(self, behind: Sequence[Request]) -> None:
        """Send what was not begun to whoever is free; refused, it is sent again like a lost one."""
        with soft_limit_masked():
            try:
                for begin in range(0, len(behind), self._width):
                    part = tuple(behind[begin : begin + self._width])
                    dispatch.send_bundle(msgspec.structs.replace(self._bundle, requests=part))
            except BrokerRefused as error:
                log.warning(
                    "unbegun_claims_refused",
                    extra={"agent": self._bundle.agent, "reason": str(error)},
                )


def _more_at_this_pace(ended: int, seconds: float) -> int:
    """Return how many more calls would end in the quick time, so many having taken ``seconds``."""
    return int(ended * QUICK_SECONDS / max(seconds, 0.0001))


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
    return replies.hand_over(agent, [reply] if reply is not None else [], deadline)


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
    agent: Agent,
    request: Request,
    *,
    deadline: Deadline,
    is_rated: bool = False,
    crashes: tuple[type[BaseException], ...] = IN_MAIN_THREAD,
) -> Reply | None:
    """Call the agent once; None: the deadline passed, be silent."""
    call = _call_of(request, deadline)
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
    except crashes as error:
        log.exception("agent_crashed", extra={"agent": agent.name, "step": request.step})
        reply = Reply.of_fault(request, _crash(error))
    return reply if deadline.remaining() > 0 else None


def _call_of(request: Request, deadline: Deadline) -> Call:
    return Call(
        request.subject, request.step, request.key, request.attempt, request.payload, deadline
    )


def _crash(error: BaseException) -> Transient:
    return Transient("agent_crashed", in_a_line(error))


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
    call = _call_of(request, deadline)
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
        answer = Unavailable("database_unavailable", first_line(error))
    except Exception as error:
        log.exception("agent_crashed", extra={"agent": agent.name, "step": request.step})
        answer = _crash(error)
    with soft_limit_masked():
        return replies.file(Reply.of_fault(request, answer), deadline)
