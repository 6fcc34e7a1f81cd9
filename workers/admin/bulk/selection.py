"""What was selected in a list: what a verb would change, and what it would not, and why."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db.models import Model, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from workers.admin import snapshot
from workers.admin.actions.action import Target
from workers.admin.bulk.kinds import BulkVerb
from workers.admin.paging import COUNTED, counted
from workers.models import Process
from workers.store.db import dialect

#: Processes changed in one go: each is a transaction of its own.
LIMIT = 500
#: Rows left out that are named with their reasons; the others are counted.
NAMED = 100


@dataclass(slots=True)
class Selection:
    """Rows of a list as an operator saw them: those that will change, and the others."""

    bulk: BulkVerb
    #: How many were selected in all, counted no further than a list counts.
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
    def counted(self) -> str:
        return counted(self.selected)

    @property
    def unnamed(self) -> str:
        """Return how many are left out and not named, in words."""
        n = self.selected - len(self.rows) - len(self.left_out)
        if self.is_capped or n == 0:
            return ""
        if self.selected > COUNTED:
            return _("and more")
        return ngettext("and %(n)d more", "and %(n)d more", n) % {"n": n}


def select(queryset: QuerySet[Any], path: str, bulk: BulkVerb) -> Selection:
    """Look at the selected rows; those beyond the limit are left for the next time.

    ``path`` leads from a row to its process.
    """
    now = dialect.read_clock()
    plain = queryset.prefetch_related(None).order_by(f"{path}pk")
    found = list(_read(bulk.candidates(plain, path, now), path)[: LIMIT + 1])
    selected = plain.order_by()[: COUNTED + 1].count()
    selection = Selection(bulk, selected=selected, is_capped=len(found) > LIMIT)
    if selection.is_capped:
        found.pop()
    else:
        found += _read(plain.exclude(pk__in=[row.pk for row in found]), path)[:NAMED]
    for row in found:
        _look_at(selection, row, now)
    return selection


def _read(queryset: QuerySet[Any], path: str) -> QuerySet[Any]:
    joined = queryset.select_related("process") if path else queryset
    return snapshot.with_steps(joined, path)


def _look_at(selection: Selection, row: Any, now: datetime) -> None:
    target = Target.of(process_of(row), now)
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
    now = dialect.read_clock()
    found = (process_of(row) for row in _read(queryset.prefetch_related(None), path))
    return {process.pk: Target.of(process, now) for process in found}
