"""Undo a process: which undo steps run, in which order, and when they may begin.  Pure.

Undo steps are steps like any other: claimed, timed, retried and supervised in the same
way.  They are planned when a process begins to compensate, one for every step that may have
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
from workers.specs import SpecRow
from workers.states import FINAL_PROCESS_STATES, SETTLED_STEP_STATES, ProcessState, StepState


@dataclass(frozen=True, slots=True)
class Plan:
    """What undoing would do: the undo steps in order, and the effects that cannot be undone."""

    undo: tuple[PlannedUndo, ...]
    #: Steps that may have had an effect but declare no undo.
    lasting: tuple[str, ...]
    #: Steps that a person did by hand, so a person must undo them.
    by_hand: tuple[str, ...] = ()
    #: Steps whose service has forgotten the key of a call of unknown outcome: a person looks there.
    forgotten: tuple[str, ...] = ()


def is_past_no_return(locked: LockedProcess) -> bool:
    """Say whether a process can no longer be undone."""
    states = {step.name: step.state for step in locked.forward_steps}
    return is_passed(locked.process.no_return, states)


def is_passed(no_return: Collection[str], states: Mapping[str, str]) -> bool:
    """Say whether all steps that make undoing impossible are processed."""
    return bool(no_return) and all(states.get(name) == StepState.PROCESSED for name in no_return)


def plan(
    locked: LockedProcess,
    among: Collection[StepRow] | None = None,
    *,
    even_if_processed: bool = False,
) -> Plan:
    """Return what undoing all steps, or those ``among``, would do now; changes nothing.

    Raises ``StateError`` when the process is final, compensating already, or past its
    point of no return.
    """
    refuse_if_too_late(locked, even_if_processed=even_if_processed)
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
        forgotten=tuple(s.name for s in ordered if evidence.is_forgotten(s, locked.now)),
    )


def _planned(step: StepRow, names: Mapping[str, str], later: Iterable[StepRow]) -> PlannedUndo:
    """Return the undo of a step; it waits for the undo steps of every later step."""
    undo = step.spec.undo
    assert undo is not None
    spec = SpecRow(
        after=tuple(names[successor.name] for successor in later if successor.name in names),
        effect=undo.get("effect") or Effect.IDEMPOTENT,
        key_retention_seconds=undo.get("key_retention_seconds"),
        timeout_seconds=step.spec.timeout_seconds,
        backoff_base_seconds=step.spec.backoff_base_seconds,
        backoff_cap_seconds=step.spec.backoff_cap_seconds,
    )
    return PlannedUndo(forward=step, name=names[step.name], agent=undo["agent"], spec=spec)


def begin(
    locked: LockedProcess,
    outcome: str,
    actor: str,
    reason: str,
    *,
    even_if_processed: bool = False,
) -> Plan:
    """Begin to compensate: claim no more forward steps, and plan the undo steps.

    Voids claims that no agent has started; started ones run to their reply or deadline, and
    their undo waits for that.  ``outcome`` is what the process becomes: compensated or
    cancelled.  Raises ``StateError`` when the process is final, compensating already, or
    past its point of no return; ``even_if_processed`` lets a processed child begin.
    """
    process = locked.process
    refuse_if_too_late(locked, even_if_processed=even_if_processed)
    void(locked, locked.forward_steps, actor)
    undo_plan = plan(locked, even_if_processed=even_if_processed)
    process.outcome = outcome
    process.needs_decision = False
    locked.move_process(
        ProcessState.COMPENSATING,
        "compensating",
        actor,
        reason=reason,
        undo=[planned.name for planned in undo_plan.undo],
        lasting=list(undo_plan.lasting),
    )
    locked.planned += undo_plan.undo
    return undo_plan


def turn_back(
    locked: LockedProcess,
    names: Sequence[str],
    undo: Sequence[PlannedUndo],
    actor: str,
    **detail: Any,
) -> None:
    """Undo only these steps; ``restart.finish`` later restarts them and resumes the process."""
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
    """Cancel steps that no agent works on: waiting, queued, or awaiting a callback."""
    for step in steps:
        if step.state in (StepState.WAITING, StepState.PENDING) or (
            step.state == StepState.PROCESSING and not step.is_at_work
        ):
            locked.move(step, StepState.CANCELLED, "cancelled", actor)


def refuse_if_too_late(locked: LockedProcess, *, even_if_processed: bool = False) -> None:
    """Raise ``StateError`` if the process is final, compensating, or past its no-return point."""
    process = locked.process
    is_final = process.state in FINAL_PROCESS_STATES
    if is_final and not (even_if_processed and process.state == ProcessState.PROCESSED):
        raise refused("nothing_to_undo", subject=process.subject, state=process.state)
    if locked.is_being_undone:
        raise refused("undone_already", subject=process.subject)
    if is_past_no_return(locked):
        raise refused("past_no_return", subject=process.subject, steps=list(process.no_return))


def ready_undo_steps(locked: LockedProcess, actor: str) -> list[StepRow]:
    """Return the undo steps that may begin now; skip those that have nothing to undo.

    An undo waits for the step it undoes and for every step after that one: calls in flight end
    first, and later steps are undone before earlier ones.
    """
    while True:
        ready = [step for step in locked.undo_steps if _may_begin(locked, step)]
        needless = [step for step in ready if evidence.is_none(forward_of(locked, step))]
        if not needless:
            return ready
        for step in needless:
            locked.move(step, StepState.SKIPPED, "nothing_to_undo", actor)


def undone(locked: LockedProcess, step: StepRow, actor: str) -> None:
    """Mark the step whose effect an undo step has undone."""
    forward = forward_of(locked, step)
    locked.touch(forward)
    evidence.undone(forward)
    if forward.state != StepState.COMPENSATED:
        found = {"found_nothing": True} if _found_nothing(step) else {}
        locked.move(
            forward,
            StepState.COMPENSATED,
            "compensated",
            actor,
            public=True,
            by=step.name,
            **found,
        )


def _found_nothing(undo: StepRow) -> bool:
    """Say whether an undo's service answered that there was nothing to undo: only empty values."""
    return bool(undo.result) and not any((undo.result or {}).values())


def finish(locked: LockedProcess, actor: str) -> None:
    """End a compensating process: once everything is undone, or in error if an undo failed."""
    stuck = [step.name for step in locked.undo_steps if step.state == StepState.ERROR]
    if is_under_way(locked) or (has_more(locked) and not stuck):
        return
    if stuck:
        # The failed undo blocks the undo steps that wait for it.
        locked.move_process(ProcessState.ERROR, "error", actor, undo_stuck=stuck)
        return
    outcome = locked.process.outcome
    assert outcome is not None
    if outcome != ProcessState.PROCESSING:
        locked.move_process(outcome, outcome, actor)


def is_under_way(locked: LockedProcess) -> bool:
    """Say whether a step of the compensation is queued or in flight."""
    return any(
        step.state in (StepState.PENDING, StepState.PROCESSING)
        for step in locked.steps
        if step.undoes_id is not None or locked.is_given_up(step)
    )


def has_more(locked: LockedProcess) -> bool:
    """Say whether any undo step has not begun."""
    return any(step.state == StepState.WAITING for step in locked.undo_steps)


def _may_begin(locked: LockedProcess, step: StepRow) -> bool:
    forward = forward_of(locked, step)
    return (
        step.state == StepState.WAITING
        and all(locked.named(name).state in SETTLED_STEP_STATES for name in step.spec.after)
        and all(
            other.state != StepState.PROCESSING for other in [forward, *successors(locked, forward)]
        )
    )


def is_a_persons(locked: LockedProcess, step: StepRow) -> bool:
    """Say whether a step undoes work done by hand: then a person has to undo it, too."""
    return step.undoes_id is not None and forward_of(locked, step).is_by_hand


def is_forgotten(locked: LockedProcess, step: StepRow) -> bool:
    """Say whether a step undoes a possible effect whose key the service has forgotten by now.

    Such an undo would find nothing, and prove nothing.
    """
    return step.undoes_id is not None and evidence.is_forgotten(
        forward_of(locked, step), locked.now
    )


def forward_of(locked: LockedProcess, step: StepRow) -> StepRow:
    """Return the step that an undo step undoes."""
    forward = locked.step(step.undoes_id or 0)
    assert forward is not None
    return forward


def _undo_name(locked: LockedProcess, step: StepRow) -> str:
    """Return a name for the undo of this generation of a step, unique in its process."""
    assert step.spec.undo is not None
    name: str = step.spec.undo["name"]
    is_taken = any(undo.name == name for undo in locked.undo_steps)
    return f"{name}_{step.generation}" if is_taken else name


def successors(locked: LockedProcess, step: StepRow) -> list[StepRow]:
    """Return every step after ``step``, direct or indirect, the nearest first."""
    return _after(locked.forward_steps, _next_to(locked), step)


def _next_to(locked: LockedProcess) -> dict[str, list[int]]:
    """Return, by step name, the indexes of the forward steps that come right after it."""
    indexes: dict[str, list[int]] = {}
    for index, step in enumerate(locked.forward_steps):
        for name in step.spec.after:
            indexes.setdefault(name, []).append(index)
    return indexes


def _after(forward: list[StepRow], next_to: dict[str, list[int]], step: StepRow) -> list[StepRow]:
    steps: dict[int, StepRow] = {}
    level = [step.name]
    while level:
        indexes = {index for name in level for index in next_to.get(name, ()) if index not in steps}
        # Keep each level in the order of the steps.
        nearest = {index: forward[index] for index in sorted(indexes)}
        steps.update(nearest)
        level = [successor.name for successor in nearest.values()]
    return list(steps.values())


def _depths(locked: LockedProcess) -> dict[str, int]:
    """Return the length of the longest path that leads to each step."""
    by_name = {step.name: step for step in locked.steps}
    depths: dict[str, int] = {}
    stack = list(by_name)
    # Without recursion: a process may be a chain of thousands of steps.
    while stack:
        name = stack[-1]
        unvisited = [
            predecessor for predecessor in by_name[name].spec.after if predecessor not in depths
        ]
        if unvisited:
            stack += unvisited
            continue
        stack.pop()
        depths[name] = max(
            (1 + depths[predecessor] for predecessor in by_name[name].spec.after), default=0
        )
    return depths
