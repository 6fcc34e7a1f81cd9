"""What is due next: the instants at which the rows say that something will happen."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from workers.conf import sas
from workers.scheduler import claiming
from workers.states import OPEN_PROCESS_STATES, ProcessState, StepState
from workers.store.db import dialect
from workers.store.flow.flow_control import seconds_to_next

#: The store asks for timers that are *past*; SQLite's instants are exact to this much.
JUST_AFTER = timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True)
class Timer:
    """An instant, and what happens then."""

    at: datetime
    what: str


def timers(now: datetime) -> list[Timer]:
    """Return what is due after ``now`` and when, the earliest first; changes nothing.

    What was due before and has not happened waits for something else: room at its agent, or
    the end of a pause, which is a timer of its own.
    """
    of_rows = [*_of_processes(), *_of_steps(), *_of_sinks(), *_of_leases()]
    found = [*of_rows, *_of_agents(now), *_of_the_pause(now), *_of_the_poll(now)]
    return sorted((one for one in found if one.at > now), key=lambda timer: timer.at)


# Asked between any two messages, hence the plain statements.
def _of_processes() -> Iterator[Timer]:
    dated = dialect.fetch(
        "SELECT deadline_at, subject FROM workers_process WHERE deadline_at IS NOT NULL"
        " AND outcome IS NULL AND state IN ('pending', 'processing', 'error', 'compensating')"
    )
    for at, subject in dated:
        yield _timer(at, f"{subject} is to end by then")


def _of_steps() -> Iterator[Timer]:
    found = dialect.fetch(
        "SELECT p.subject, p.state, p.paused_at, s.name, s.state, s.reply IS NOT NULL,"
        " s.not_before, s.dispatch_by, s.complete_by, s.escalate_at"
        " FROM workers_step s JOIN workers_process p ON p.id = s.process_id"
        " WHERE s.state IN ('pending', 'processing')"
    )
    for subject, state, paused_at, step, step_state, is_filed, *instants in found:
        name = f"{subject}: {step} is {step_state}"
        not_before, dispatch_by, complete_by, escalate_at = instants
        if escalate_at is not None:
            yield _timer(escalate_at, f"{name}, an operator is told that nobody has answered")
        if step_state == StepState.PENDING:
            is_moving = ProcessState(state) in OPEN_PROCESS_STATES and paused_at is None
            if not_before is not None and is_moving:
                yield _timer(not_before, f"{name}, not before {not_before}")
        elif not is_filed and complete_by is not None:
            grace = timedelta(seconds=sas.expiry_grace_seconds) + JUST_AFTER
            yield _timer(complete_by, f"{name}, its deadline is {complete_by}", grace)
        elif not is_filed and dispatch_by is not None:
            lost = f"{name}, nobody has started it; sent again after {dispatch_by}"
            yield _timer(dispatch_by, lost, JUST_AFTER)


def _of_sinks() -> Iterator[Timer]:
    found = dialect.fetch(
        "SELECT next_try_at, kind, address FROM workers_sink WHERE state = 'open' AND last > cursor"
    )
    for at, kind, address in found:
        yield _timer(at, f"the {kind} {address} is told what it does not know")


def _of_leases() -> Iterator[Timer]:
    # Held between two messages by the dead alone: what they had begun waits for its end.
    held = dialect.fetch("SELECT expires_at, name FROM workers_lease WHERE expires_at IS NOT NULL")
    for at, name in held:
        yield _timer(at, f"the lease {name} is over", JUST_AFTER)


def _timer(at: object, what: str, later: timedelta = timedelta()) -> Timer:
    instant = dialect.instant(at)
    assert instant is not None
    return Timer(instant + later, what)


def _of_agents(now: datetime) -> Iterator[Timer]:
    states = ", ".join(f"'{state}'" for state in sorted(OPEN_PROCESS_STATES))
    open_breakers = dialect.fetch(
        "SELECT open_until, agent FROM workers_flow f WHERE open_until IS NOT NULL AND EXISTS"
        " (SELECT 1 FROM workers_step s JOIN workers_process p ON p.id = s.process_id"
        f" WHERE s.agent = f.agent AND s.state = 'pending' AND p.state IN ({states}))"
    )
    for at, agent in open_breakers:
        yield _timer(at, f"agent {agent}: its breaker is open till then")
    wait = seconds_to_next()
    if wait is not None:
        yield Timer(now + timedelta(seconds=wait) + JUST_AFTER, "the rate of an agent has room")


def _of_the_poll(now: datetime) -> Iterator[Timer]:
    # Nothing of them is under way or waits for a person: their end was held back, by an
    # ``on_end`` that raised.
    states = ", ".join(f"'{state}'" for state in sorted(OPEN_PROCESS_STATES))
    still = dialect.fetch(
        f"SELECT p.subject FROM workers_process p WHERE p.state IN ({states})"
        " AND p.paused_at IS NULL AND NOT EXISTS (SELECT 1 FROM workers_step s"
        " WHERE s.process_id = p.id AND s.state IN ('pending', 'processing', 'error'))"
    )
    for (subject,) in still:
        at = now + timedelta(seconds=sas.poll_seconds)
        yield Timer(at, f"{subject} has not ended; the next poll tries again")


def _of_the_pause(now: datetime) -> Iterator[Timer]:
    pause = claiming.pause
    if pause.is_on():
        end = datetime.fromtimestamp(pause._until, now.tzinfo)
        yield Timer(end + JUST_AFTER, "the broker refused; claiming pauses till then")
