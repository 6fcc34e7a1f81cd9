"""Run claims that this process has started: call the agent and reply, within the deadline."""

import logging
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext

from celery.exceptions import SoftTimeLimitExceeded
from django.db import OperationalError

from workers.agent import replies
from workers.agent.call_pool import Work
from workers.definitions.agent import Agent, Call, Deadline, Deferred
from workers.definitions.effects import Effect
from workers.exceptions import (
    ROWS_LOCKED,
    DeadlinePassed,
    Fault,
    MessageError,
    Permanent,
    Transient,
    Unavailable,
    first_line,
    in_a_line,
    sqlstate,
)
from workers.http.client import one_try
from workers.http.faults import own_statuses
from workers.logs import within_call
from workers.protocol.messages import Reply, Request, storable
from workers.runtime import tracing
from workers.runtime.db_connections import closed_after
from workers.runtime.failpoints import around, durable
from workers.runtime.soft_limit import soft_limit_masked
from workers.runtime.worker_identity import me
from workers.store.settle import filed_replies

#: The exceptions that count as an agent's crash.  In the main thread, SystemExit may come from a
#: signal; in other threads it can only be the agent's, and would end the calls that run beside it.
IN_MAIN_THREAD = (Exception,)
IN_A_THREAD = (Exception, SystemExit)

log = logging.getLogger(__name__)


class _TooLate(Exception):
    """The claim no longer holds: the transaction must be rolled back."""


def call(work: Work, crashes: tuple[type[BaseException], ...] = IN_A_THREAD) -> Reply | None:
    """Call the agent once; None: the deadline has passed, so send no reply."""
    with _as_call(work.agent, work.request):
        return _call(work, crashes)


def _call(work: Work, crashes: tuple[type[BaseException], ...]) -> Reply | None:
    agent, request, deadline = work.agent, work.request, work.deadline
    try:
        deadline.check()
        # A retry would be an uncounted call, or repeat an effect that nobody asked about.
        is_tried_once = work.is_rated or agent.effect in (Effect.UNSAFE, Effect.QUERYABLE)
        with one_try() if is_tried_once else nullcontext(), closed_after():
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
        request.subject,
        request.step,
        request.key,
        request.attempt,
        request.payload,
        deadline,
        request.process_id,
    )


def _crash(error: BaseException) -> Transient:
    return Transient("agent_crashed", in_a_line(error))


def _ask(agent: Agent, request: Request, call: Call) -> Reply:
    """Call the agent; if an earlier call is in doubt and can be queried, query it first."""
    answer = None
    if request.in_doubt and agent.effect == Effect.QUERYABLE:
        with around("runner.probe"), own_statuses(agent.proof):
            answer = agent.probe(call)
    if answer is None:
        with around("runner.run"), own_statuses(agent.proof):
            answer = agent.run(call)
        # None alone is an empty result: False may say that nothing was done.
        answer = {} if answer is None else answer
    if isinstance(answer, Deferred):
        return Reply.of_deferral(request, answer.to_wire())
    try:
        storable(answer)
        return Reply.of(request, answer)
    except MessageError as error:
        # An error in the agent: another call would give the same result.
        raise Permanent("result_unusable", str(error)) from error


def perform_local(work: Work) -> bool:
    """Run a local agent: its writes, its reply and the journal entry commit together.

    False: its deadline has passed, or its claim no longer holds; nothing was written.
    """
    with _as_call(work.agent, work.request):
        return _perform_local(work)


def _perform_local(work: Work) -> bool:
    agent, request, deadline = work.agent, work.request, work.deadline
    try:
        # Outermost, so that the soft limit stays masked until the commit has returned.
        with ExitStack() as mask, durable("runner.perform_local"):
            deadline.check()
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
        is_locked = sqlstate(error) in ROWS_LOCKED
        code = "rows_locked" if is_locked else "database_unavailable"
        answer = Unavailable(code, first_line(error))
    except Exception as error:
        log.exception("agent_crashed")
        answer = _crash(error)
    with soft_limit_masked():
        tracing.note_fault(answer)
        reply = Reply.of_fault(request, answer, is_proof=agent.vouches(answer))
        return replies.file(reply)
