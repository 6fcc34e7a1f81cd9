"""What must be true after every move, and what must have come of it all in the end."""

from collections.abc import Iterator
from datetime import timedelta

from django.contrib.auth.models import Group

from tests.statemachine.services import Services
from workers.definitions import registry
from workers.definitions.effects import Effect
from workers.models import Alert, Journal, Process, Step
from workers.ops.invariants import SLACK_SECONDS, violations
from workers.states import FINAL_PROCESS_STATES, ProcessState, StepState
from workers.states import may_move_process as may_process
from workers.states import may_move_step as may_step
from workers.testing import Clock

#: Invariants that only a supervisor and a scheduler who are there can keep.
_OF_THE_PUNCTUAL = {"nothing_is_forgotten", "deadline_is_heeded"}
#: How an operator is told of a process that does not go on by itself.
_TOLD = ["process_error", "undo_stuck", "decision_needed"]


class Soundness:
    """Looks at the state store and at the services, and finds what is wrong."""

    def __init__(self, services: Services, clock: Clock) -> None:
        self._services = services
        self._clock = clock
        self._seen = 0
        self._swept_at = self._attended_at = clock.now

    def swept(self) -> None:
        self._swept_at = self._clock.now

    def polled(self) -> None:
        """Note that what the last sweep has left to the Scheduler is decided."""
        self._attended_at = self._swept_at

    def wrong(self) -> list[str]:
        """Return what must never be true."""
        return [
            *self._broken_invariants(),
            *self._illegal_moves(),
            *self._services.complaints,
            *self._impossible_effects(),
        ]

    def wrong_at_the_end(self) -> list[str]:
        """Return what must not be true once nothing is due any more."""
        found = self.wrong()
        for process in Process.objects.prefetch_related("steps"):
            found += [f"{process.subject}: {wrong}" for wrong in self._wrong_end(process)]
        return found

    def _broken_invariants(self) -> Iterator[str]:
        absent = self._clock.now - self._attended_at
        is_attended = absent < timedelta(seconds=SLACK_SECONDS - 5)
        for one in violations():
            if is_attended or one.invariant not in _OF_THE_PUNCTUAL:
                yield f"{one.invariant}: {one.subject}: {one.wrong}"

    def _illegal_moves(self) -> Iterator[str]:
        rows = Journal.objects.filter(pk__gt=self._seen, after__isnull=False).order_by("pk")
        for pk, step, before, after in rows.values_list("pk", "step_id", "before", "after"):
            self._seen = pk
            is_legal = (may_step if step else may_process)(before, after)
            if before is not None and not is_legal:
                yield f"journal row {pk} goes from {before} to {after}"

    def _impossible_effects(self) -> Iterator[str]:
        if not self._services.effects:
            return
        steps = Step.objects.filter(undoes__isnull=True)
        for name, process, key, may_have_effect in steps.values_list(
            "name", "process__subject", "idempotency_key", "may_have_effect"
        ):
            live = self._services.live(key)
            if sum(live.values()) > 1:
                yield f"{process}: {name} had its effect more than once: {live}"
            if live and not may_have_effect:
                yield f"{process}: {name} does not know of its effect: {live}"

    def _wrong_end(self, process: Process) -> Iterator[str]:
        steps = list(process.steps.all())
        is_asked = any(step.state == StepState.ERROR for step in steps)
        if process.state == ProcessState.ERROR or (
            process.state == ProcessState.PROCESSING and is_asked
        ):
            told = Alert.objects.filter(process=process, acknowledged_at=None, code__in=_TOLD)
            if not told.exists():
                yield f"{process.state}, and nobody was told: {_states(steps)}"
        elif process.state not in FINAL_PROCESS_STATES:
            yield f"{process.state}, and nothing is due any more: {_states(steps)}"
        else:
            yield from self._wrong_effects(process, steps)
            if process.state == ProcessState.PROCESSED:
                yield from self._missing_effects(steps)

    def _wrong_effects(self, process: Process, steps: list[Step]) -> Iterator[str]:
        """Find effects that stand and should not: of what was undone, or of what began again."""
        is_done = process.state == ProcessState.PROCESSED
        current = {step.idempotency_key for step in steps}
        for (agent, key), times in self._services.effects.items():
            if not times or not key.startswith(process.uid.hex):
                continue
            undoer = self._services.undoer(process.subject, key, agent)
            if key not in current if is_done else undoer is not None:
                yield f"the process is {process.state}, and {agent}'s effect {key} stands"

    def _missing_effects(self, steps: list[Step]) -> Iterator[str]:
        for step in steps:
            agent = registry.agent(step.agent)
            # What it undoes is gone; that there is nothing to be undone was looked at already.
            is_silent = agent.effect == Effect.NONE or step.undoes_id is not None
            if step.state != StepState.PROCESSED or is_silent:
                continue
            done = sum(self._services.live(step.idempotency_key).values())
            if agent.is_local:
                done = Group.objects.filter(name=step.idempotency_key).count()
            if done != 1:
                yield f"{step.name} is processed and had its effect {done} times"


def _states(steps: list[Step]) -> str:
    return ", ".join(f"{step.name} {step.state}" for step in steps)
