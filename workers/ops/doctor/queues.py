"""The queues: whether each exists, has a reader, and is not too full."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from celery import current_app

from workers.celery.queues import ENGINE_QUEUES, agent_queues, declared_otherwise, remedy_of
from workers.definitions.agent import DEFAULT_QUEUE
from workers.definitions.sentences import say as _
from workers.ops.doctor.connecting import AMQP, kind, while_connected
from workers.ops.doctor.finding import Finding, Level, error, info, ok, warning
from workers.ops.doctor.own_queues import own_queues
from workers.ops.doctor.registry import Need, probe
from workers.wire.dispatch import (
    REPORTS_QUEUE,
    SCHEDULER_QUEUE,
    SUPERVISOR_QUEUE,
)

MANY_MESSAGES = 10_000
_WITHOUT = {
    SCHEDULER_QUEUE: _("Nothing is claimed, and no order continues."),
    SUPERVISOR_QUEUE: _("No expired step is tried again."),
    REPORTS_QUEUE: _("No submitter is notified."),
    DEFAULT_QUEUE: _("No service is called."),
}


@dataclass(frozen=True, slots=True)
class State:
    """State of a queue at the broker; ``readers`` None: this broker does not say."""

    messages: int
    readers: int | None


@probe("queues", needs=Need.NOTHING)
@while_connected
def are_read(connection: Any) -> Iterable[Finding]:
    """Check every queue that should exist."""
    names = [*sorted({*ENGINE_QUEUES, *agent_queues()}), *own_queues()]
    states = {name: state_of(connection, name) for name in names}
    existing = {name: state for name, state in states.items() if state}
    # First, because no worker can read such a queue.
    findings = _declaration_errors(connection, existing)
    findings += [finding for name, state in states.items() if (finding := _judge(name, state))]
    yield from findings
    if all(finding.level is Level.INFO for finding in findings):
        has_readers = all(state.readers is not None for state in existing.values())
        read, unknown = (
            _("%(n)d queues have consumers", n=len(existing)),
            _(
                "%(n)d queues can be read; this broker does not name their consumers",
                n=len(existing),
            ),
        )
        yield ok(read if has_readers else unknown)
    waiting = ", ".join(f"{name} {state.messages}" for name, state in existing.items())
    yield info(_("messages: %(queues)s", queues=waiting or _("none")))


def _judge(name: str, state: State | None) -> Finding | None:
    own = own_queues().get(name)
    why = own.without if own else _WITHOUT.get(name, _("The agents of this queue are not called."))
    remedy = own.start if own else _("Start a worker with -Q %(name)s, or without -Q.", name=name)
    if state is None:
        # Consumers declare an application's own queue: a missing one was never used here.
        return (info if own else error)(_("there is no queue %(name)s", name=name), why, remedy)
    if state.readers == 0 and own and state.messages:
        # An application may do without it, but the senders of these wait for an answer.
        what = _("the queue %(name)s has waiting messages and no consumer", name=name)
        return error(what, why, remedy)
    if state.readers == 0:
        level = warning if own else error
        return level(_("the queue %(name)s has no consumer", name=name), why, remedy)
    if state.messages > MANY_MESSAGES:
        return warning(
            _("%(messages)s messages wait in %(name)s", messages=state.messages, name=name),
            _("Its consumers cannot keep up."),
            own.fall_behind if own else _("Run more workers with -Q %(name)s.", name=name),
        )
    return None


def _declaration_errors(connection: Any, names: Iterable[str]) -> list[Finding]:
    """Return errors on existing queues that differ from what a worker declares."""
    # An application's own queues may differ: their consumers take them as they are.
    ours = current_app.amqp.queues
    if kind(connection) != AMQP:
        return []
    return [
        error(
            _("the queue %(name)s is not as this code declares it: %(said)s", name=name, said=said),
            _("A worker that reads it ends as soon as it starts, and nothing reaches it."),
            remedy_of(name),
        )
        for name in names
        if name in ours and (said := declared_otherwise(connection, ours[name]))
    ]


def state_of(connection: Any, name: str) -> State | None:
    """Return the state of a queue at the broker; None: there is none."""
    channel = connection.channel()
    try:
        if kind(connection) == AMQP:
            _, messages, readers = channel.queue_declare(name, passive=True)
            return State(messages, readers)
        # Elsewhere a queue is just its messages: an empty one is as good as none.
        return State(channel._size(name), None)
    except connection.channel_errors:
        return None
    finally:
        # A channel error has closed it.
        if channel.connection is not None:
            channel.close()
