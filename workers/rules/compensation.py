"""Undoing a process: which undo steps, in which order, from when on.  Pure.

Undo steps are steps like any other: claimed, timed, retried and supervised on the same
road.  They are planned when a process begins to compensate, one for every step that may have
had an effect or is still in flight, in the reverse order of the graph.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workers.definitions.effects import Effect
from workers.rules import evidence
from workers.rules.refusals import refused
from workers.rules.rows import PlannedUndo, StepRow
from workers.rules.transitions import LockedProcess
from workers.states import FINAL_PROCESS_STATES, SETTLED_STEP_STATES, ProcessState, StepState


@dataclass(frozen=True, slots=True)
class Plan:
    """What undoing would do: undo steps in order, and effects that nothing undoes."""

    undo: tuple[PlannedUndo, ...]
    #: Steps that may have had an effect and declare no undo.
    lasting: tuple[str, ...]
    #: Steps to undo that a person did by hand: a person undoes them.
    by_hand: tuple[str, ...] = ()


def is_past_no_return(locked: LockedProcess) -> bool:
    """Say whether the steps that make undoing impossible are all processed."""
    names = locked.process.no_return
    return bool(names) and all(locked.named(name).state == StepState.PROCESSED for name in names)


def plan(locked: LockedProcess, among: Collection[StepRow] | None = None) -> Plan:
    """Return what undoing would do just now, of all steps or of some; changes nothing.

    Raises ``StateError`` when the process is final, compensating already, or past its
    point of no return.
    """
    refuse_if_too_late(locked)
    acting = [
        step
        for step in (locked.forward_steps if among is None else among)
        if evidence.needs_undo(step)
    ]
    names = {step.name: _undo_name(locked, step) for step in acting if step.has_undo}
    depths = _depths(locked)
    forward, next_to = locked.forward_steps, _next_to(locked)
    ordered = sorted(
        (step for step in acting if step.name in names), key=lambda step: -depths[step.name]
    )
    return Plan(
        undo=tuple(_planned(step, names, _after(forward, next_to, step)) for step in ordered),
        lasting=tuple(
            step.name for step in acting if step.name not in names and not evidence.is_none(step)
        ),
        by_hand=tuple(step.name for step in ordered if step.is_by_hand),
    )


def _planned(step: StepRow, names: Mapping[str, str], later: Iterable[StepRow]) -> PlannedUndo:
    """Return the undo of a step, which waits for those of the steps after it."""
    assert step.undo is not None
    return PlannedUndo(
        forward=step,
        name=names[step.name],
        agent=step.undo["agent"],
        effect=step.undo.get("effect") or Effect.IDEMPOTENT,
        key_retention_seconds=step.undo.get("key_retention_seconds"),
        after=[names[one.name] for one in later if one.name in names],
    )


def begin(locked: LockedProcess, outcome: str, actor: str, reason: str) -> Plan:
    """Begin to compensate: nothing forward is claimed any more, and undo steps are planned.

    Claims that nobody has started are voided; started ones run to their reply or deadline,
    and their undo waits for that.  ``outcome`` is what the process becomes: compensated or
    cancelled.  Raises ``StateError`` when the process is final, compensating already, or
    past its point of no return.
    """
    process = locked.process
    refuse_if_too_late(locked)
    void(locked, locked.forward_steps, actor)
    found = plan(locked)
    process.outcome = outcome
    process.needs_decision = False
    locked.move_process(
        ProcessState.COMPENSATING,
        "compensating",
        actor,
        reason=reason,
        undo=[planned.name for planned in found.undo],
        lasting=list(found.lasting),
    )
    locked.planned += found.undo
    return found


def turn_back(
    locked: LockedProcess,
    names: Sequence[str],
    undo: Sequence[PlannedUndo],
    actor: str,
    **detail: Any,
) -> None:
    """Undo some steps alone; ``restart.finish`` lets them begin again, and the process go on."""
    process = locked.process
    process.outcome, process.renews = ProcessState.PROCESSING, list(names)
    if process.state == ProcessState.PENDING:
        locked.move_process(ProcessState.PROCESSING, "started", actor)
    undone = [planned.name for planned in undo]
    locked.move_process(
        ProcessState.COMPENSATING,
        "compensating",
        actor,
        undo=undone,
        begins_again=list(names),
        **detail,
    )
    locked.planned += undo


def void(locked: LockedProcess, steps: Collection[StepRow], actor: str) -> None:
    """Cancel what nobody is at work on: waiting, queued, unstarted, or waiting for a callback."""
    for step in steps:
        if step.state in (StepState.WAITING, StepState.PENDING) or (
            step.state == StepState.PROCESSING and not step.is_at_work
        ):
            locked.move(step, StepState.CANCELLED, "cancelled", actor)


def refuse_if_too_late(locked: LockedProcess) -> None:
    process = locked.process
    if process.state in FINAL_PROCESS_STATES:
        raise refused("nothing_to_undo", subject=process.subject, state=process.state)
    if locked.is_being_undone:
        raise refused("undone_already", subject=process.subject)
    if is_past_no_return(locked):
        raise refused("past_no_return", subject=process.subject, steps=list(process.no_return))


def ready_undo_steps(locked: LockedProcess, actor: str) -> list[StepRow]:
    """Return the undo steps that may begin now; skip those that turn out to be needless.

    An undo waits for the step it undoes and for everything after that step: what is in
    flight has ended, and what was done later is undone first.
    """
    while True:
        ready = [step for step in locked.undo_steps if _may_begin(locked, step)]
        needless = [step for step in ready if evidence.is_none(forward_of(locked, step))]
        if not needless:
            return ready
        for step in needless:
            locked.move(step, StepState.SKIPPED, "nothing_to_undo", actor)


def undone(locked: LockedProcess, step: StepRow, actor: str) -> None:
    """Mark the step whose effect a processed undo step has undone."""
    forward = forward_of(locked, step)
    locked.touch(forward)
    evidence.undone(forward)
    if forward.state != StepState.COMPENSATED:
        locked.move(forward, StepState.COMPENSATED, "compensated", actor, public=True, by=step.name)


def finish(locked: LockedProcess, actor: str) -> None:
    """End a compensating process once everything is undone, or in error where an undo failed."""
    stuck = [step.name for step in locked.undo_steps if step.state == StepState.ERROR]
    if is_under_way(locked) or (has_more(locked) and not stuck):
        return
    if stuck:
        # It holds back what still waits for it.
        locked.move_process(ProcessState.ERROR, "error", actor, undo_stuck=stuck)
        return
    outcome = locked.process.outcome
    assert outcome is not None
    if outcome != ProcessState.PROCESSING:
        locked.move_process(outcome, outcome, actor)


def is_under_way(locked: LockedProcess) -> bool:
    """Say whether something of the compensation is queued or in flight."""
    return any(
        step.state in (StepState.PENDING, StepState.PROCESSING)
        for step in locked.steps
        if step.undoes_id is not None or locked.is_given_up(step)
    )


def has_more(locked: LockedProcess) -> bool:
    """Say whether an undo step has not begun."""
    return any(step.state == StepState.WAITING for step in locked.undo_steps)


def _may_begin(locked: LockedProcess, step: StepRow) -> bool:
    forward = forward_of(locked, step)
    return (
        step.state == StepState.WAITING
        and all(locked.named(name).state in SETTLED_STEP_STATES for name in step.after)
        and all(
            one.state != StepState.PROCESSING for one in [forward, *successors(locked, forward)]
        )
    )


def is_a_persons(locked: LockedProcess, step: StepRow) -> bool:
    """Say whether a step undoes what a person did by hand: then a person does that, too."""
    return step.undoes_id is not None and forward_of(locked, step).is_by_hand


def forward_of(locked: LockedProcess, step: StepRow) -> StepRow:
    """Return the step that an undo step undoes."""
    forward = locked.step(step.undoes_id or 0)
    assert forward is not None
    return forward


def _undo_name(locked: LockedProcess, step: StepRow) -> str:
    """Return what the undo of this use of a step is called: names are unique per process."""
    assert step.undo is not None
    name: str = step.undo["name"]
    is_taken = any(one.name == name for one in locked.undo_steps)
    return f"{name}_{step.generation}" if is_taken else name


def successors(locked: LockedProcess, step: StepRow) -> list[StepRow]:
    """Return every step that comes after ``step``, near and far, the near ones first."""
    return _after(locked.forward_steps, _next_to(locked), step)


def _next_to(locked: LockedProcess) -> dict[str, list[int]]:
    """Return the places of the forward steps that come right after each step, by its name."""
    found: dict[str, list[int]] = {}
    for place, one in enumerate(locked.forward_steps):
        for name in one.after:
            found.setdefault(name, []).append(place)
    return found


def _after(forward: list[StepRow], next_to: dict[str, list[int]], step: StepRow) -> list[StepRow]:
    found: dict[int, StepRow] = {}
    level = [step.name]
    while level:
        places = {place for name in level for place in next_to.get(name, ()) if place not in found}
        # Each level in the order of the steps.
        nearer = {place: forward[place] for place in sorted(places)}
        found.update(nearer)
        level = [one.name for one in nearer.values()]
    return list(found.values())


def _depths(locked: LockedProcess) -> dict[str, int]:
    """Return how many steps lie before each step at most."""
    by_name = {step.name: step for step in locked.steps}
    depths: dict[str, int] = {}
    waiting = list(by_name)
    # Without recursion: a process may have thousands of steps, one after another.
    while waiting:
        name = waiting[-1]
        before = [one for one in by_name[name].after if one not in depths]
        if before:
            waiting += before
            continue
        waiting.pop()
        depths[name] = max((1 + depths[one] for one in by_name[name].after), default=0)
    return depths
