"""Explain what a process and its steps wait for, in sentences for people.

The desk registers this module with the engine, whose snapshots have these sentences.
"""

from collections.abc import Sequence, Set
from dataclasses import asdict
from datetime import datetime
from typing import Any

from django.utils.text import capfirst
from django.utils.translation import gettext as _

from workers.definitions.children import CHILDREN
from workers.definitions.sentences import in_words, say_names, unended
from workers.desk.texts import wait_reasons
from workers.models import Process, Step
from workers.ops import wait_facts
from workers.ops.wait_facts import ChildCounts, Facts
from workers.runtime.timestamps import moment
from workers.states import FINAL_PROCESS_STATES, FORWARD_PROCESS_STATES, ProcessState, StepState


def read(process: Process, now: datetime | None, *, with_names: bool) -> tuple[datetime, Facts]:
    """Return the database's time and the facts; without names, what submitters may read."""
    situation = wait_facts.read([process], now)
    return situation.now, situation.facts if with_names else situation.facts.without_names()


def step(row: Step, process: Process, now: datetime, facts: Facts | None, settled: Set[str]) -> str:
    """Return what a step waits for, since when, and what comes next; empty once it is over.

    ``settled`` names the steps of the process that no longer keep others waiting.
    """
    facts = facts or Facts()
    reason = (row.fault or {}).get("message", "")
    match row.state:
        case StepState.WAITING:
            return _waiting(row, process, now, facts, settled)
        case StepState.PENDING:
            return wait_reasons.pending(row, process, now, facts)
        case StepState.PROCESSING if row.agent == CHILDREN:
            return children(facts.children.get(row.undoes_id or row.pk))
        case StepState.PROCESSING if row.deferral is not None:
            return _deferred(row, row.deferral, now, facts)
        case StepState.PROCESSING:
            return _processing(row, now, facts)
        case StepState.ERROR if (row.fault or {}).get("kind") == "refused":
            # A no is an answer: there is nothing to fix.
            return _("the answer was no: %(reason)s") % {"reason": reason}
        case StepState.ERROR:
            return _("failed for good: %(reason)s") % {"reason": reason}
        case StepState.SKIPPED if not reason:
            # Its condition was false, or a person skipped it: the journal has which.
            return _("not needed")
        case StepState.SKIPPED:
            return _("skipped: %(reason)s") % {"reason": reason}
    return ""


def _waiting(row: Step, process: Process, now: datetime, facts: Facts, settled: Set[str]) -> str:
    if before := [name for name in row.spec.after if name not in settled]:
        return _("waits for %(steps)s") % {"steps": in_words(say_names(before))}
    if row.undoes_id is not None and process.paused_at is None:
        return _("waits until the step that it undoes, and those after that, have ended")
    # It is about to become ready.
    return wait_reasons.pending(row, process, now, facts)


def _deferred(row: Step, deferral: dict[str, Any], now: datetime, facts: Facts) -> str:
    if row.complete_by is not None and row.complete_by <= now:
        return _("got no answer in time: %(next)s") % {"next": _reset(now, facts)}
    text = _("has been waiting for an answer since %(since)s") % {
        "since": _moment(deferral.get("since"), now)
    }
    if deferral.get("question"):
        text += _(": “%(question)s”") % {"question": deferral["question"]}
    if row.complete_by is not None:
        text += _(", due by %(at)s") % {"at": moment(row.complete_by, now)}
    if deferral.get("progress"):
        text += _(", last report at %(at)s: %(report)s") % {
            "at": _moment(deferral.get("reported_at"), now),
            "report": report(deferral["progress"]),
        }
    return text


def children(counts: ChildCounts | None) -> str:
    """Return how far the children of a step are."""
    if counts is None or counts.total is None:
        return _("is about to have its children")
    params = {**asdict(counts), "ended": counts.processed + counts.failed}
    if counts.is_undoing:
        text = _("has its children undone: %(under_way)d under way, %(processed)d to go")
    else:
        text = _(
            "waits for its children: %(ended)d of %(total)d have ended, %(under_way)d under way"
        )
    parts = [text % params]
    if counts.failed and not counts.is_undoing:
        parts.append(_("%(failed)d failed") % params)
    if counts.in_error:
        parts.append(_("%(in_error)d in error, which need an operator") % params)
    return ", ".join(parts)


def _processing(row: Step, now: datetime, facts: Facts) -> str:
    assert row.complete_by is not None
    if row.complete_by <= now:
        return _("ran out of time: %(next)s") % {"next": _reset(now, facts)}
    # An instant: the page shows a running clock, beside which seconds would stand still.
    at = moment(row.complete_by, now)
    return _("%(worker)s works on it until %(at)s") % {"worker": row.locked_by, "at": at}


def _reset(now: datetime, facts: Facts) -> str:
    silence = wait_reasons.sweep_silence(facts.sweep, now)
    return silence or _("the Supervisor resets it at its next sweep")


def headline(
    process: Process, steps: Sequence[tuple[Step, str]], now: datetime, facts: Facts | None
) -> str:
    """Return what a process waits for, and what happens next.

    ``steps`` has each step with its text from ``step``.
    """
    facts = facts or Facts()
    sentences = [_state(process, steps, now, facts)]
    if process.state in FINAL_PROCESS_STATES:
        return sentences[0]
    if process.paused_at is not None:
        at = moment(process.paused_at, now)
        note = facts.pauses.get(process.pk)
        since = f"{at} ({wait_reasons.by_whom(note)})" if note else at
        sentences.insert(0, _("Paused since %(at)s: nothing new starts.") % {"at": since})
    if process.deadline_at is not None and process.state in FORWARD_PROCESS_STATES:
        is_undone = process.on_deadline == "compensate"
        then = _("or it will be undone") if is_undone else _("or operators are alerted")
        at = moment(process.deadline_at, now)
        sentences.append(_("It must end by %(at)s, %(then)s.") % {"at": at, "then": then})
    return " ".join(sentences)


def _state(process: Process, steps: Sequence[tuple[Step, str]], now: datetime, facts: Facts) -> str:
    match process.state:
        case ProcessState.PROCESSED:
            return _("Everything is done.")
        case ProcessState.COMPENSATED:
            return _("It could not be finished. Everything that was done has been undone.")
        case ProcessState.CANCELLED:
            return _("It was cancelled. Everything that was done has been undone.")
    in_error = [(row, why) for row, why in steps if row.state == StepState.ERROR]
    if process.state == ProcessState.ERROR:
        # In a compensating process the failed undo needs an operator: the last step in error.
        row, why = in_error[-1 if process.outcome else 0] if in_error else (None, "")
        return _("Needs an operator: %(step)s %(why)s.") % {
            "step": row.name if row else "",
            "why": unended(why),
        }
    undecided = [
        f"{row.name} {why}"
        for row, why in in_error
        if row.spec.on_failure == "ask" and process.state == ProcessState.PROCESSING
    ]
    sentences = []
    if undecided:
        sentences.append(_("Needs a decision: %(steps)s.") % {"steps": _join(undecided)})
    active = [
        f"{row.name} {why}"
        for state in (StepState.PROCESSING, StepState.PENDING)
        for row, why in steps
        if row.state == state
    ]
    if active:
        return " ".join([*sentences, f"{_join(active)}."])
    if process.has_on_end and not any(row.state == StepState.WAITING for row, _why in steps):
        sentences.append(_("Its on_end failed, see the alert. The next poll calls it again."))
    return " ".join(sentences) or _idle(process, now, facts)


def _join(steps: Sequence[str]) -> str:
    return unended(in_words(say_names(steps, "; ")))


def _idle(process: Process, now: datetime, facts: Facts) -> str:
    """Return why no step of an open process is at work or ready."""
    silence = wait_reasons.silence(facts.poll, now) or wait_reasons.unknown_code("", process, facts)
    return f"{capfirst(silence)}." if silence else _("Waits for the Scheduler to look at it.")


def report(progress: dict[str, Any]) -> str:
    """Return a progress report of deferred work in one line."""
    return ", ".join(f"{key}: {value}" for key, value in progress.items())


def _moment(text: Any, now: datetime) -> str:
    try:
        return moment(datetime.fromisoformat(text), now)
    except (TypeError, ValueError):
        return "?"
