"""What a test wants to be true of a process; a failure tells its whole story."""

from collections.abc import Mapping, Sequence

from workers.client import progress
from workers.models import Journal, Process, Step
from workers.operate import invariants
from workers.states import ProcessState


def assert_processed(process: Process) -> None:
    """Assert that a process has come to its good end."""
    found = _read(process)
    if found.state != ProcessState.PROCESSED:
        raise AssertionError(_story(found, "not processed"))


def assert_undone(process: Process, order: Sequence[str | set[str]] | None = None) -> None:
    """Assert that a process was compensated or cancelled, its undo steps run in an order.

    A set in ``order`` stands for steps of which any may be first.
    """
    found = _read(process)
    if found.state not in (ProcessState.COMPENSATED, ProcessState.CANCELLED):
        raise AssertionError(_story(found, "not undone"))
    if order is None:
        return
    ended = Journal.objects.filter(
        process=process, step__undoes__isnull=False, event="processed"
    ).order_by("id")
    names = list(ended.values_list("step__name", flat=True))
    rest = list(names)
    is_in_order = True
    for wanted in order:
        group = {wanted} if isinstance(wanted, str) else set(wanted)
        head, rest = set(rest[: len(group)]), rest[len(group) :]
        is_in_order = is_in_order and head == group
    if rest or not is_in_order:
        raise AssertionError(_story(found, f"undone by {names}, not by {list(order)}"))


def assert_states(process: Process, states: Mapping[str, str]) -> None:
    """Assert that the steps of a process are in exactly these states, by name."""
    found = dict(Step.objects.filter(process=process).values_list("name", "state"))
    wrong = [
        f"{name} is {found.get(name, 'no step')}, not {states.get(name, 'expected')}"
        for name in {**states, **found}
        if found.get(name) != states.get(name)
    ]
    if wrong:
        raise AssertionError(_story(_read(process), "; ".join(wrong)))


def assert_journal(process: Process, events: Sequence[str]) -> None:
    """Assert what happened, in order: ``event`` of the process, ``step: event`` of a step."""
    found = [_event(row) for row in _rows(process)]
    if found != list(events):
        raise AssertionError(_story(_read(process), f"its journal is not {list(events)}"))


def assert_invariants() -> None:
    """Assert that the state store is sound: no invariant is broken by any row."""
    broken = invariants.violations()
    if broken:
        lines = [f"  {one.invariant} ({one.says}) {one.subject}: {one.wrong}" for one in broken]
        raise AssertionError("\n".join(["The state store is broken:", *lines]))


def journal_text(process: Process) -> str:
    """Return what happened to a process as lines of text."""
    lines = []
    for row in _rows(process):
        moved = f" {row.before or 'nothing'} -> {row.after}" if row.after else ""
        attempt = f", attempt {row.attempt}" if row.attempt else ""
        fault = row.detail.get("fault") or {}
        why = row.detail.get("reason") or fault.get("message")
        because = f" ({why})" if why else ""
        lines.append(f"  {row.at:%H:%M:%S.%f}  {_event(row)}{moved}{attempt}{because}")
    return "\n".join(lines)


def _rows(process: Process) -> list[Journal]:
    rows = Journal.objects.filter(process=process).select_related("step")
    return list(rows.order_by("id"))


def _event(row: Journal) -> str:
    return f"{row.step.name}: {row.event}" if row.step else row.event


def _read(process: Process) -> Process:
    # The caller's own object stays as it is.
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
