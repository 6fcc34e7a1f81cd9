"""What was selected in a list: what a verb would change, and what it would not, and why."""

from dataclasses import dataclass, field
from typing import Any

from django.db.models import Model, QuerySet

from workers.admin import standing
from workers.admin.bulk.kinds import BulkVerb
from workers.admin.verbs.verb import Target
from workers.models import Process
from workers.store import wait_facts
from workers.store.wait_facts import Situation

#: Processes changed in one go: each is a transaction of its own.
LIMIT = 1000
#: Rows left out that are named with their reasons; the others are counted.
NAMED = 100


@dataclass(slots=True)
class Selection:
    """Rows of a list as an operator saw them: those that will change, and the others."""

    bulk: BulkVerb
    #: How many were selected in all.
    selected: int = 0
    #: (row, its steps that are concerned).
    rows: list[tuple[Any, list[str]]] = field(default_factory=list)
    #: (row, why it stays as it is).
    left_out: list[tuple[Any, str]] = field(default_factory=list)
    #: There are more than go at once.
    is_capped: bool = False
    #: How many rows each step is concerned in.
    steps: dict[str, int] = field(default_factory=dict)
    targets: list[Target] = field(default_factory=list)

    @property
    def seen(self) -> str:
        """Return the frozen set for the form: process and sequence of each."""
        found = (target.process for target in self.targets)
        return ",".join(f"{process.pk}:{process.sequence}" for process in found)

    @property
    def uncounted(self) -> int:
        """Return how many are left out and not named."""
        if self.is_capped:
            return 0
        return self.selected - len(self.rows) - len(self.left_out)


def select(queryset: QuerySet[Any], path: str, bulk: BulkVerb) -> Selection:
    """Look at the selected rows; those beyond the limit are left for the next time.

    ``path`` leads from a row to its process.
    """
    situation = wait_facts.read()
    plain = queryset.prefetch_related(None).order_by("pk")
    hopeful = plain.filter(bulk.candidates(path, situation.now))
    found = list(_read(hopeful, path)[: LIMIT + 1])
    selection = Selection(bulk, selected=plain.count(), is_capped=len(found) > LIMIT)
    others = _read(plain.exclude(pk__in=hopeful.order_by().values("pk")), path)[:NAMED]
    for row in [*found[:LIMIT], *others]:
        _look_at(selection, row, situation)
    return selection


def _read(queryset: QuerySet[Any], path: str) -> QuerySet[Any]:
    joined = queryset.select_related("process") if path else queryset
    return standing.prefetched(joined, path)


def _look_at(selection: Selection, row: Any, situation: Situation) -> None:
    target = Target.of(standing.of(process_of(row), situation))
    refusal = selection.bulk.verb.refusal(target)
    if refusal:
        selection.left_out.append((row, refusal))
        return
    names = selection.bulk.concerned(target)
    selection.rows.append((row, names))
    selection.targets.append(target)
    for name in names:
        selection.steps[name] = selection.steps.get(name, 0) + 1


def process_of(row: Model) -> Process:
    process: Process = row if isinstance(row, Process) else row.process  # type: ignore[attr-defined]
    return process


def targets(queryset: QuerySet[Any], path: str) -> dict[int, Target]:
    """Return the processes of rows, read anew, by their ids."""
    situation = wait_facts.read()
    found = (process_of(row) for row in _read(queryset.prefetch_related(None), path))
    return {process.pk: Target.of(standing.of(process, situation)) for process in found}
