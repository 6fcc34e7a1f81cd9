"""What is due next: instants from the rows at which something will happen."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from workers.conf import sas
from workers.definitions import known, registry
from workers.rules.rate_limit import Bucket
from workers.states import NEVER, OPEN_PROCESS_STATES, ProcessState, StepState
from workers.store.db import dialect
from workers.store.flow import due_steps
from workers.store.flow.flow_control import LockedFlow

#: The store looks for timers that are *past*; SQLite's instants have this resolution.
JUST_AFTER = timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True)
class Timer:
    """An instant, and what happens then."""

    at: datetime
    event: str


def timers(now: datetime) -> list[Timer]:
    """Return what is due after ``now`` and when, the earliest first; changes nothing.

    What was due earlier and has not happened waits for something else: room at its agent.
    """
    of_rows = [*_deadlines(), *_steps(), *_keys(), *_sinks(), *_leases()]
    all_timers = [*of_rows, *_agents(now), *_lost_wake_ups(now), *_poll(now)]
    return sorted((timer for timer in all_timers if timer.at > now), key=lambda timer: timer.at)


def schedules(now: datetime) -> list[Timer]:
    """Return when schedules fire next: no end of work waits for them, as there is always one."""
    rows = dialect.fetch("SELECT due_at, name FROM workers_schedule WHERE paused_at IS NULL")
    all_timers = [_timer(at, f"schedule {name} fires") for at, name in rows]
    return [timer for timer in all_timers if timer.at > now]


# Called between any two messages, hence the plain statements.
def _deadlines() -> Iterator[Timer]:
    rows = dialect.fetch(
        "SELECT deadline_at, subject FROM workers_process WHERE deadline_at IS NOT NULL"
        " AND outcome IS NULL AND state IN ('pending', 'processing', 'error', 'compensating')"
    )
    for at, subject in rows:
        yield _timer(at, f"{subject} is to end by then")


def _keys() -> Iterator[Timer]:
    rows = dialect.fetch(
        "SELECT k.next_at, k.agent FROM workers_limitedkey k WHERE k.next_at IS NOT NULL"
        " AND EXISTS (SELECT 1 FROM workers_live l WHERE l.limit_key = k.key"
        " AND l.state IN ('pending', 'blocked'))"
    )
    for at, agent in rows:
        yield _timer(at, f"a key of {agent} has a token")


def _steps() -> Iterator[Timer]:
    rows = dialect.fetch(
        "SELECT p.subject, p.state, p.paused_at, s.name, s.state, s.reply IS NOT NULL,"
        " s.not_before, s.complete_by, s.escalate_at"
        " FROM workers_step s JOIN workers_process p ON p.id = s.process_id"
        " WHERE s.state IN ('pending', 'processing')"
    )
    for subject, state, paused_at, step, step_state, is_filed, *instants in rows:
        name = f"{subject}: {step} is {step_state}"
        not_before, complete_by, escalate_at = instants
        if escalate_at is not None:
            yield _timer(escalate_at, f"{name}, an operator is told that nobody has answered")
        if step_state == StepState.PENDING:
            is_moving = ProcessState(state) in OPEN_PROCESS_STATES and paused_at is None
            if not_before is not None and is_moving:
                yield _timer(not_before, f"{name}, not before {not_before}")
        elif not is_filed and complete_by is not None and not _is_never(complete_by):
            grace = timedelta(seconds=sas.expiry_grace_seconds) + JUST_AFTER
            yield _timer(complete_by, f"{name}, its deadline is {complete_by}", grace)


def _is_never(at: object) -> bool:
    instant = dialect.instant(at)
    return instant is not None and instant >= NEVER


def _sinks() -> Iterator[Timer]:
    rows = dialect.fetch(
        "SELECT next_try_at, kind, address FROM workers_sink WHERE state = 'open' AND last > cursor"
    )
    for at, kind, address in rows:
        yield _timer(at, f"the {kind} {address} is told what it does not know")


def _leases() -> Iterator[Timer]:
    # Between two messages only dead processes hold leases, and their work waits for the end.
    rows = dialect.fetch("SELECT expires_at, name FROM workers_lease WHERE expires_at IS NOT NULL")
    for at, name in rows:
        yield _timer(at, f"the lease {name} is over", JUST_AFTER)


def _timer(at: object, event: str, later: timedelta = timedelta()) -> Timer:
    instant = dialect.instant(at)
    assert instant is not None
    return Timer(instant + later, event)


def _agents(now: datetime) -> Iterator[Timer]:
    states = ", ".join(f"'{state}'" for state in sorted(OPEN_PROCESS_STATES))
    breakers = dialect.fetch(
        "SELECT open_until, agent FROM workers_flow f WHERE open_until IS NOT NULL AND EXISTS"
        " (SELECT 1 FROM workers_step s JOIN workers_process p ON p.id = s.process_id"
        f" WHERE s.agent = f.agent AND s.state = 'pending' AND p.state IN ({states}))"
    )
    for at, agent in breakers:
        yield _timer(at, f"agent {agent}: its breaker is open till then")
    rates = dialect.fetch(
        "SELECT f.rate_per_second, f.tokens, f.refilled_at, f.agent FROM workers_flow f"
        f" WHERE f.rate_per_second IS NOT NULL AND {due_steps.is_one('f.agent', '%s')}",
        [dialect.instant_text(now)],
    )
    for rate, tokens, refilled_at, agent in rates:
        bucket = Bucket(rate, tokens, dialect.instant(refilled_at)).refilled(now)
        wait = timedelta(seconds=bucket.seconds_to_next())
        yield Timer(now + wait + JUST_AFTER, f"the rate of agent {agent} has room")


def _lost_wake_ups(now: datetime) -> Iterator[Timer]:
    """Return the poll for due steps that their agents have room for, and no process was woken."""
    versions = dialect.id_list(sorted(known.own().versions))
    rows = dialect.fetch(
        f"SELECT DISTINCT l.agent FROM {due_steps.steps('l.agent', '%s')}"
        f" AND {dialect.among(due_steps.VERSION)}",
        [dialect.instant_text(now), versions],
    )
    agents = {agent for (agent,) in rows if registry.has_agent(agent)}
    for agent, room in sorted(LockedFlow(agents, now).room().items()):
        if room:
            at = now + timedelta(seconds=sas.poll_seconds)
            yield Timer(at, f"a step of agent {agent} is due; the next poll wakes its processes")


def _poll(now: datetime) -> Iterator[Timer]:
    # Processes without a step under way or in error: an ``on_end`` that raised keeps them open.
    states = ", ".join(f"'{state}'" for state in sorted(OPEN_PROCESS_STATES))
    rows = dialect.fetch(
        f"SELECT p.subject FROM workers_process p WHERE p.state IN ({states})"
        " AND p.paused_at IS NULL AND NOT EXISTS (SELECT 1 FROM workers_step s"
        " WHERE s.process_id = p.id AND s.state IN ('pending', 'processing', 'error'))"
    )
    for (subject,) in rows:
        at = now + timedelta(seconds=sas.poll_seconds)
        yield Timer(at, f"{subject} has not ended; the next poll tries again")
