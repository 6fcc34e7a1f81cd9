"""What is due next: the instants at which the rows say that something will happen."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from workers import scheduler
from workers.conf import sas
from workers.models import Flow, Process, Step
from workers.states import FINAL_PROCESS_STATES, OPEN_PROCESS_STATES, StepState
from workers.store.flow import seconds_to_next

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
    found = [*_of_processes(), *_of_steps(), *_of_agents(now), *_of_the_pause(now)]
    return sorted((one for one in found if one.at > now), key=lambda timer: timer.at)


def _of_processes() -> Iterator[Timer]:
    dated = Process.objects.exclude(deadline_at=None).filter(outcome=None)
    for process in dated.exclude(state__in=sorted(FINAL_PROCESS_STATES)):
        if process.deadline_at is not None:
            yield Timer(process.deadline_at, f"{process.subject} is to end by then")


def _of_steps() -> Iterator[Timer]:
    grace = timedelta(seconds=sas.expiry_grace_seconds)
    steps = Step.objects.filter(state__in=[StepState.PENDING, StepState.PROCESSING])
    for step in steps.select_related("process").defer("process__input"):
        name = f"{step.process.subject}: {step.name} is {step.state}"
        if step.escalate_at is not None:
            yield Timer(step.escalate_at, f"{name}, an operator is told that nobody has answered")
        if step.state == StepState.PROCESSING:
            if step.reply is not None:
                continue
            if step.complete_by is not None:
                expires = step.complete_by + grace + JUST_AFTER
                yield Timer(expires, f"{name}, its deadline is {step.complete_by}")
            elif step.dispatch_by is not None:
                lost = step.dispatch_by + JUST_AFTER
                yield Timer(lost, f"{name}, nobody has started it; sent again after {lost}")
        elif step.not_before is not None and _is_moving(step.process):
            yield Timer(step.not_before, f"{name}, not before {step.not_before}")


def _is_moving(process: Process) -> bool:
    return process.state in OPEN_PROCESS_STATES and process.paused_at is None


def _of_agents(now: datetime) -> Iterator[Timer]:
    waiting = Step.objects.filter(
        state=StepState.PENDING, process__state__in=sorted(OPEN_PROCESS_STATES)
    ).values("agent")
    for flow in Flow.objects.filter(agent__in=waiting):
        if flow.open_until is not None:
            yield Timer(flow.open_until, f"agent {flow.agent}: its breaker is open till then")
    wait = seconds_to_next()
    if wait is not None:
        yield Timer(now + timedelta(seconds=wait) + JUST_AFTER, "the rate of an agent has room")


def _of_the_pause(now: datetime) -> Iterator[Timer]:
    pause = scheduler._pause
    if pause.is_on():
        end = datetime.fromtimestamp(pause._until, now.tzinfo)
        yield Timer(end + JUST_AFTER, "the broker refused; claiming pauses till then")
