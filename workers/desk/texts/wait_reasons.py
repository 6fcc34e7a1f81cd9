"""Explain why a ready step is not at work: one sentence for every page, command and API.  Pure.

Several things may hold up a step at once.  The first in this order is given, because the later ones
do not matter while it lasts: a pause, the process's own state, a hold, no Scheduler, code that no
worker has, the step's own time, a full key, the breaker, a full window, the rate.
"""

from datetime import datetime

from django.utils.translation import gettext as _

from workers.models import Process, Step
from workers.ops.wait_facts import MOST_BEFORE, AgentFlow, Duty, Facts, Note
from workers.rules.limit_keys import Limit
from workers.runtime.timestamps import moment
from workers.states import ProcessState


def pending(row: Step, process: Process, now: datetime, facts: Facts) -> str:
    """Return why a pending step is not claimed, since when, and what comes next."""
    return (
        _stopped(row, process)
        or held(row, facts)
        or _because(silence(facts.poll, now))
        or unknown_code(row.agent, process, facts)
        or _not_before(row, now, facts)
        or _blocked(row, process, facts)
        or _no_room(row, now, facts)
        or _("waits for an agent process to take it")
    )


def obstacle(row: Step, process: Process, now: datetime, facts: Facts) -> str:
    """Return what would hold up a step that became ready now in any process; empty: nothing.

    As a predicate of the step: "waits: the service of agent ... is open".
    """
    flow = (facts.flows or {}).get(row.agent)
    shut = flow is not None and flow.window == 0
    return (
        held(row, facts)
        or _because(silence(facts.poll, now))
        or unknown_code(row.agent, process, facts)
        or (_because(_breaker(row, flow, now)) if flow else "")
        or (_window(row, flow, now) if flow and shut else "")
    )


def _because(reason: str) -> str:
    return _("waits: %(reason)s") % {"reason": reason} if reason else ""


def by_whom(note: Note) -> str:
    """Return who holds or pauses something, and why."""
    return _("by %(who)s: %(reason)s") % {
        "who": note.by,
        "reason": note.reason or _("no reason was given"),
    }


def held(row: Step, facts: Facts) -> str:
    """Return which operator's hold keeps a step from being claimed; empty: none."""
    for key, text in (
        (("everything", ""), _("waits until operators lift the hold on everything")),
        (("agent", row.agent), _("waits until operators lift the hold on agent %(name)s")),
        (("step", row.name), _("waits until operators lift the hold on steps called %(name)s")),
    ):
        if key in facts.holds:
            note = facts.holds[key]
            reason = text % {"name": key[1]}
            return f"{reason} ({by_whom(note)})" if note else reason
    return ""


def silence(poll: Duty | None, now: datetime) -> str:
    """Return that no Scheduler is at work, and what to do; empty: one is, or it was not read."""
    return _late(
        *(poll, now, _("start a worker with -Q sas.scheduler,sas.supervisor, and Celery Beat")),
        _("no Scheduler has ever looked for work: %(remedy)s"),
        _("no Scheduler has looked for work for %(seconds)d s: %(remedy)s"),
    )


def sweep_silence(sweep: Duty | None, now: datetime) -> str:
    """Return that no Supervisor is at work, and what to do; empty: one is, or it was not read."""
    return _late(
        *(sweep, now, _("start a worker with -Q sas.supervisor, and Celery Beat")),
        _("no Supervisor has ever swept: %(remedy)s"),
        _("no Supervisor has swept for %(seconds)d s: %(remedy)s"),
    )


def _late(duty: Duty | None, now: datetime, remedy: str, never: str, late: str) -> str:
    if duty is None or not duty.is_late(now):
        return ""
    if duty.performed_at is None:
        return never % {"remedy": remedy}
    return late % {"seconds": round((now - duty.performed_at).total_seconds()), "remedy": remedy}


def unknown_code(agent: str, process: Process, facts: Facts) -> str:
    """Return which definition workers needed and did not have; empty: none."""
    remedy = _("bring the code that has it to every worker")
    if f"workflow:{process.workflow}:{process.version}" in facts.unknown:
        return _(
            "waits for a worker that knows workflow %(name)s version %(version)d: %(remedy)s"
        ) % {"name": process.workflow, "version": process.version, "remedy": remedy}
    if f"agent:{agent}" in facts.unknown:
        return _("waits for a worker that knows agent %(name)s: %(remedy)s") % {
            "name": agent,
            "remedy": remedy,
        }
    return ""


def _stopped(row: Step, process: Process) -> str:
    if process.paused_at is not None:
        return _("waits until the process is resumed")
    if process.state == ProcessState.ERROR:
        return _("waits until the step in error is dealt with")
    if process.state == ProcessState.COMPENSATING and row.undoes_id is None:
        return _("will not start: the process is being undone")
    return ""


def _not_before(row: Step, now: datetime, facts: Facts) -> str:
    """Return the step's own time, unless something else holds it up longer."""
    if row.not_before is None or row.not_before <= now:
        return ""
    flow = (facts.flows or {}).get(row.agent)
    reopens = flow.breaker.open_until if flow and flow.breaker.forced is None else None
    if reopens is not None and reopens >= row.not_before:
        return ""
    if not row.fault:
        return _("will not start before %(at)s") % {"at": moment(row.not_before, now)}
    reason = _("will be tried again at %(at)s: %(reason)s") % {
        "at": moment(row.not_before, now),
        "reason": row.fault.get("message") or _("no reason was given"),
    }
    away = _breaker(row, flow, now) if flow and reopens is not None else ""
    return f"{reason}; {away}" if away else reason


def _no_room(row: Step, now: datetime, facts: Facts) -> str:
    if facts.flows is None:
        return ""
    flow = facts.flows.get(row.agent)
    if flow is None:
        return _(
            "waits: agent %(agent)s has no flow row, so nothing is claimed for it: run"
            " manage.py migrate with the code that declares it"
        ) % {"agent": row.agent}
    return (
        _because(_breaker(row, flow, now))
        or _behind(row, facts, _window(row, flow, now))
        or _not_here(row, facts)
    )


def _blocked(row: Step, process: Process, facts: Facts) -> str:
    """Return which full key a step waits for, and who has its places; empty: none."""
    wait = facts.blocked.get(row.pk)
    if wait is None:
        return ""
    names = {
        "name": process.workflow if wait.is_exclusive else row.agent,
        "number": wait.window,
        "attribute": wait.attribute,
    }
    if wait.is_exclusive:
        reason = _("blocked: workflow %(name)s has one process at a time for each %(attribute)s")
    elif wait.limit == Limit.HELD:
        reason = _("blocked: operators hold this %(attribute)s of agent %(name)s")
    elif wait.limit == Limit.TOKEN:
        reason = _("blocked: agent %(name)s begins %(rate)g a second for each %(attribute)s")
    else:
        reason = _("blocked: agent %(name)s has %(number)d at once for each %(attribute)s")
    reason %= names | {"rate": wait.rate or 0}
    if wait.holder is not None:
        state = ProcessState(wait.holder_state or "").label.lower()
        holder = _("%(reason)s, now process %(process)d, which is %(state)s")
        reason = holder % {"reason": reason, "process": wait.holder, "state": state}
    return _counted(reason, wait.before)


def _behind(row: Step, facts: Facts, reason: str) -> str:
    """Return a reason together with how many steps come first."""
    steps_before = facts.before.get(row.pk)
    if not reason or steps_before is None:
        return reason
    return _counted(reason, steps_before)


def _counted(reason: str, steps_before: int) -> str:
    number = f"{steps_before}+" if steps_before >= MOST_BEFORE else str(steps_before)
    return _("%(reason)s (%(number)s before it)") % {"reason": reason, "number": number}


def _breaker(row: Step, flow: AgentFlow, now: datetime) -> str:
    breaker = flow.breaker
    if breaker.forced == "open":
        return _("operators keep the breaker of agent %(agent)s open") % {"agent": row.agent}
    if breaker.forced == "closed" or breaker.open_until is None or breaker.opened_at is None:
        return ""
    text = _(
        "the service of agent %(agent)s has not been reached since %(since)s and its breaker is"
        " open"
    ) % {"agent": row.agent, "since": moment(breaker.opened_at, now)}
    probe = _probe(flow, now, _("next probe at %(at)s") % {"at": moment(breaker.open_until, now)})
    return f"{text}; {probe}"


def next_probe(flow: AgentFlow, now: datetime) -> str:
    """Return when an open breaker lets the next call through; empty: it is closed."""
    breaker = flow.breaker
    if breaker.forced == "open":
        return _("nothing happens until an operator releases the breaker")
    if breaker.forced == "closed" or breaker.open_until is None:
        return ""
    seconds = round((breaker.open_until - now).total_seconds())
    return _probe(flow, now, _("probe in %(seconds)d s") % {"seconds": seconds})


def _probe(flow: AgentFlow, now: datetime, ahead: str) -> str:
    """Return ``ahead`` while the breaker is open, and afterwards the state of the probe."""
    if flow.breaker.open_until is not None and flow.breaker.open_until > now:
        return ahead
    return _("a probe is under way") if flow.in_flight else _("next probe: now")


def _window(row: Step, flow: AgentFlow, now: datetime) -> str:
    names = {"agent": row.agent, "window": flow.window, "n": flow.in_flight}
    if flow.window == 0:
        return _("waits until operators set the window of agent %(agent)s, which is 0") % names
    if flow.in_flight >= flow.window:
        return (
            _("waits for room at agent %(agent)s: %(n)d of %(window)d requests are in flight")
            % names
        )
    if flow.deferred_window is not None and (
        flow.outstanding + flow.in_flight >= flow.deferred_window
    ):
        return _outstanding(row, flow)
    if flow.capacity == 0:
        return _("waits for a worker: no live one has agent %(agent)s and serves its queue") % names
    if flow.capacity is not None and flow.in_flight >= flow.capacity:
        return _(
            "waits for room at agent %(agent)s: all %(n)d call slots of its workers are busy"
        ) % {**names, "n": flow.capacity}
    if flow.bucket is not None and flow.bucket.refilled(now).room < 1:
        rate = f"{flow.bucket.per_second:g}"
        return _("waits for its turn: agent %(agent)s takes %(rate)s a second at most") % {
            "agent": row.agent,
            "rate": rate,
        }
    return ""


def _outstanding(row: Step, flow: AgentFlow) -> str:
    """Return how many answers are outstanding, and how many calls may still defer."""
    names = {
        "agent": row.agent,
        "number": flow.outstanding,
        "calls": flow.in_flight,
        "most": flow.deferred_window,
    }
    if flow.in_flight:
        return (
            _(
                "waits: %(number)d answers of %(agent)s are outstanding and %(calls)d calls are in"
                " flight, at most %(most)d together"
            )
            % names
        )
    return _("waits: %(number)d answers of %(agent)s are outstanding, at most %(most)d") % names


def _not_here(row: Step, facts: Facts) -> str:
    if facts.agents is None or row.agent in facts.agents:
        return ""
    return _(
        "waits for a worker that knows agent %(name)s, which is not in the code of this process"
    ) % {"name": row.agent}
