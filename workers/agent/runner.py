"""Run claims: start them, call the agent, and reply, unless the deadline has passed."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from time import monotonic
from uuid import uuid4

from celery.exceptions import SoftTimeLimitExceeded
from django.db import OperationalError

from workers.agent import replies
from workers.agent.call_pool import Work
from workers.agent.replies import Answer, SettleHere
from workers.definitions import registry
from workers.definitions.agent import Agent, Call, Deadline, Deferred
from workers.definitions.effects import Effect
from workers.exceptions import (
    DeadlinePassed,
    Fault,
    MessageError,
    Permanent,
    Transient,
    Unavailable,
    first_line,
    in_a_line,
)
from workers.http.client import one_try
from workers.logs import within_call
from workers.protocol.messages import Bundle, Reply, Request, storable
from workers.runtime import tracing
from workers.runtime.db_connections import closed_after
from workers.runtime.failpoints import around, durable
from workers.runtime.soft_limit import soft_limit_masked
from workers.runtime.worker_identity import me
from workers.store.claims import claim_steps
from workers.store.flow import spend_rate
from workers.store.settle import filed_replies

#: The exceptions that count as an agent's crash.  In the main thread, SystemExit may come from a
#: signal; in other threads it can only be the agent's, and would end the calls that run beside it.
IN_MAIN_THREAD = (Exception,)
IN_A_THREAD = (Exception, SystemExit)

log = logging.getLogger(__name__)


class _TooLate(Exception):
    """The claim no longer holds: the transaction must be rolled back."""


def start(agent: Agent, requests: Sequence[Request], bundle: Bundle) -> list[Request]:
    """Start claims, and count their calls if the agent has a rate; return those that hold."""
    claims = [(request.step_id, request.claim_id) for request in requests]
    with soft_limit_masked():
        if bundle.is_rated:
            # A call in doubt is queried first, and then perhaps made.
            asked_first = agent.effect == Effect.QUERYABLE
            calls = sum(1 + (asked_first and request.in_doubt) for request in requests)
            spend_rate.spend(agent.name, calls)
        started = claim_steps.start(
            claims, timeout_seconds=bundle.timeout_seconds, worker=me("agent"), delivery=uuid4()
        )
    return [request for request in requests if request.step_id in started]


def perform_alone(bundle: Bundle, settle_here: SettleHere | None) -> int:
    """Run claims one after another in the main thread, where the soft limit can interrupt them.

    For local and serial agents.  Returns how many replied.
    """
    agent = registry.agent(bundle.agent)
    if agent.is_local:
        return _perform_local_requests(agent, bundle, settle_here)
    return sum(_perform_one(agent, request, bundle, settle_here) for request in bundle.requests)


def _perform_one(
    agent: Agent, request: Request, bundle: Bundle, settle_here: SettleHere | None
) -> int:
    began = monotonic()
    if not start(agent, [request], bundle):
        return 0
    deadline = Deadline(bundle.timeout_seconds, began)
    try:
        reply = call(Work(agent, request, deadline, bundle), IN_MAIN_THREAD)
    except SoftTimeLimitExceeded:
        log.warning("soft_limit_reached", extra={"agent": agent.name, "silent": 1})
        return 0
    return replies.hand_over(agent, [] if reply is None else [Answer(reply, deadline)], settle_here)


def _perform_local_requests(agent: Agent, bundle: Bundle, settle_here: SettleHere | None) -> int:
    filed: list[int] = []
    try:
        for request in bundle.requests:
            if perform_local(agent, request, bundle):
                filed.append(request.step_id)
    except SoftTimeLimitExceeded:
        log.warning("soft_limit_reached", extra={"agent": agent.name})
    replies.settle_filed(filed, settle_here)
    return len(filed)


def call(work: Work, crashes: tuple[type[BaseException], ...] = IN_A_THREAD) -> Reply | None:
    """Call the agent once; None: the deadline has passed, so send no reply."""
    with _as_call(work.agent, work.request):
        return _call(work, crashes)


def _call(work: Work, crashes: tuple[type[BaseException], ...]) -> Reply | None:
    agent, request, deadline = work.agent, work.request, work.deadline
    try:
        deadline.check()
        # A retry would be an uncounted call.
        with one_try() if work.bundle.is_rated else nullcontext(), closed_after():
            reply = _ask(agent, request, _call_of(request, deadline))
    except SoftTimeLimitExceeded:
        # It is an Exception, too, but not a crash of the agent.
        raise
    except DeadlinePassed:
        return None
    except Fault as fault:
        tracing.note_fault(fault)
        reply = Reply.of_fault(request, fault, is_proof=agent.vouches(fault))
    except crashes as error:
        log.exception("agent_crashed")
        crash = _crash(error)
        tracing.note_fault(crash)
        reply = Reply.of_fault(request, crash)
    return reply if deadline.remaining() > 0 else None


@contextmanager
def _as_call(agent: Agent, request: Request) -> Iterator[None]:
    """Have what is logged, traced and sent meanwhile belong to the call."""
    with (
        within_call(
            agent=agent.name,
            subject=request.subject,
            step=request.step,
            attempt=request.attempt,
            claim=str(request.claim_id),
            trace=tracing.trace_id(request.key),
        ),
        tracing.call_span(agent.name, request.key, request.attempt),
    ):
        yield


def _call_of(request: Request, deadline: Deadline) -> Call:
    return Call(
        request.subject, request.step, request.key, request.attempt, request.payload, deadline
    )


def _crash(error: BaseException) -> Transient:
    return Transient("agent_crashed", in_a_line(error))


def _ask(agent: Agent, request: Request, call: Call) -> Reply:
    """Call the agent; if an earlier call is in doubt and can be queried, query it first."""
    answer = None
    if request.in_doubt and agent.effect == Effect.QUERYABLE:
        with around("runner.probe"):
            answer = agent.probe(call)
    if answer is None:
        with around("runner.run"):
            answer = agent.run(call) or {}
    if isinstance(answer, Deferred):
        return Reply.of_deferral(request, answer.to_wire())
    try:
        return Reply.of(request, answer, storable(answer))
    except MessageError as error:
        # An error in the agent: another call would give the same result.
        raise Permanent("result_unusable", str(error)) from error


def perform_local(agent: Agent, request: Request, bundle: Bundle) -> bool:
    """Run a local agent: its writes, its reply and the journal entry commit together."""
    with _as_call(agent, request):
        return _perform_local(agent, request, bundle)


def _perform_local(agent: Agent, request: Request, bundle: Bundle) -> bool:
    began = monotonic()
    if not start(agent, [request], bundle):
        return False
    deadline = Deadline(bundle.timeout_seconds, began)
    try:
        # Outermost, so that the soft limit stays masked until the commit has returned.
        with ExitStack() as mask, durable("runner.perform_local"):
            reply = _ask(agent, request, _call_of(request, deadline))
            deadline.check()
            mask.enter_context(soft_limit_masked())
            if not filed_replies.file(reply, me("agent")):
                raise _TooLate
        return True
    except SoftTimeLimitExceeded:
        # It is an Exception, too, but not a crash of the agent.
        raise
    except (_TooLate, DeadlinePassed):
        log.warning("late_writes_rolled_back")
        return False
    except Fault as fault:
        answer = fault
    except OperationalError as error:
        # The database was busy or unavailable, so no effect was committed.
        answer = Unavailable("database_unavailable", first_line(error))
    except Exception as error:
        log.exception("agent_crashed")
        answer = _crash(error)
    with soft_limit_masked():
        tracing.note_fault(answer)
        reply = Reply.of_fault(request, answer, is_proof=agent.vouches(answer))
        return replies.file(reply, deadline)
