"""Assertions about processes; a failure prints the whole journal."""

from collections.abc import Mapping, Sequence

from workers.client import progress
from workers.models import Journal, Process, Step
from workers.ops import invariants
from workers.states import ProcessState


def assert_processed(process: Process) -> None:
    """Assert that a process has been processed."""
    row = _read(process)
    if row.state != ProcessState.PROCESSED:
        raise AssertionError(_story(row, "not processed"))


def assert_undone(process: Process, order: Sequence[str | set[str]] | None = None) -> None:
    """Assert that a process was compensated or cancelled, its undo steps run in this order.

    The steps of a set in ``order`` may run in any order.
    """
    row = _read(process)
    if row.state not in (ProcessState.COMPENSATED, ProcessState.CANCELLED):
        raise AssertionError(_story(row, "not undone"))
    if order is None:
        return
    entries = Journal.objects.filter(
        process=process, step__undoes__isnull=False, event="processed"
    ).order_by("id")
    names = list(entries.values_list("step__name", flat=True))
    rest = list(names)
    is_in_order = True
    for item in order:
        group = {item} if isinstance(item, str) else set(item)
        head, rest = set(rest[: len(group)]), rest[len(group) :]
        is_in_order = is_in_order and head == group
    if rest or not is_in_order:
        raise AssertionError(_story(row, f"undone by {names}, not by {list(order)}"))


def assert_states(process: Process, states: Mapping[str, str]) -> None:
    """Assert that the steps of a process are in exactly these states, by name."""
    actual = dict(Step.objects.filter(process=process).values_list("name", "state"))
    wrong = [
        f"{name} is {actual.get(name, 'no step')}, not {states.get(name, 'expected')}"
        for name in {**states, **actual}
        if actual.get(name) != states.get(name)
    ]
    if wrong:
        raise AssertionError(_story(_read(process), "; ".join(wrong)))


def assert_journal(process: Process, events: Sequence[str]) -> None:
    """Assert the events of the journal, in order: ``event``, or ``step: event`` for a step."""
    if [_event(row) for row in _rows(process)] != list(events):
        raise AssertionError(_story(_read(process), f"its journal is not {list(events)}"))


def assert_invariants() -> None:
    """Assert that no row of the state store breaks an invariant."""
    lines = [
        f"  {violation.invariant} ({violation.says}) {violation.subject}: {violation.wrong}"
        for violation in invariants.violations()
    ]
    if lines:
        raise AssertionError("\n".join(["The state store is broken:", *lines]))


def journal_text(process: Process) -> str:
    """Return the journal of a process as lines of text."""
    lines = []
    for row in _rows(process):
        move = f" {row.before or 'nothing'} -> {row.after}" if row.after else ""
        attempt = f", attempt {row.attempt}" if row.attempt else ""
        fault = row.detail.get("fault") or {}
        message = row.detail.get("reason") or fault.get("message")
        reason = f" ({message})" if message else ""
        lines.append(f"  {row.at:%H:%M:%S.%f}  {_event(row)}{move}{attempt}{reason}")
    return "\n".join(lines)


def _rows(process: Process) -> list[Journal]:
    rows = Journal.objects.filter(process=process).select_related("step")
    return list(rows.order_by("id"))


def _event(row: Journal) -> str:
    return f"{row.step.name}: {row.event}" if row.step else row.event


def _read(process: Process) -> Process:
    # The caller's own object stays unchanged.
    return Process.objects.get(pk=process.pk)


def _story(process: Process, wrong: str) -> str:
    steps = Step.objects.filter(process=process).values_list("name", "state")
    return "\n".join(
        [
            f"{process.subject} is {process.state}: {wrong}.",
            progress.snapshot(process.pk).headline,
            "Steps: " + ", ".join(f"{name} {state}" for name, state in steps),
            "Journal:",
            journal_text(process),
        ]
    )
