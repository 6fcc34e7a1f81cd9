"""A selection in a list: what a job would change, what it would leave and why, and its form."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any, Literal

from django import forms
from django.db.models import Model, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy
from django.utils.translation import ngettext

from workers.conf import sas
from workers.definitions.sentences import unended
from workers.desk.admin import snapshot
from workers.desk.admin.actions.action import ReasonForm, Target
from workers.desk.admin.bulk.kinds import BulkVerb
from workers.desk.admin.paging import COUNTED, counted
from workers.desk.rules.job_verbs import QUIET_VERBS
from workers.desk.texts import wait_reasons
from workers.models import Process, Step
from workers.ops import wait_facts
from workers.store.db import dialect

#: The size of a suggested sample.
SAMPLE = 5
#: Digits of a process's id and its sequence, at most.
LONGEST_NUMBER = 18


class JobForm(ReasonForm):
    """The processes that were shown, each with its sequence then, the reason, and the pace."""

    seen = forms.CharField(widget=forms.HiddenInput)
    rate = forms.FloatField(
        label=lazy("At most this many a second"),
        required=False,
        min_value=0.01,
        max_value=10_000,
        help_text=lazy("Empty: as fast as possible. You can still pause and stop it."),
    )

    sample = forms.IntegerField(
        label=lazy("A sample first"),
        required=False,
        min_value=1,
        max_value=1000,
        help_text=lazy(
            "This many are changed first; then the job waits for you. Empty: all of them."
        ),
    )

    field_order = ("seen", "reason", "sample", "rate")

    def clean_seen(self) -> dict[int, int]:
        pairs = [pair.partition(":")[::2] for pair in self.cleaned_data["seen"].split(",")]
        if not all(_is_number(part) for pair in pairs for part in pair):
            raise forms.ValidationError(lazy("This is no list of processes."))
        limit = int(sas.job_limit)
        if len(pairs) > limit:
            raise forms.ValidationError(
                _("A job has %(limit)d processes at most. Select fewer.") % {"limit": limit}
            )
        return {int(process_id): int(sequence) for process_id, sequence in pairs}


def _is_number(text: Any) -> bool:
    return text.isdecimal() and text.isascii() and len(text) <= LONGEST_NUMBER


#: Rows the verb is tried on before a page asks; the others are checked when the job runs.
LOOKED_AT = 1000
#: Rows left out that are shown with their reasons; the others are counted.
NAMED = 100


@dataclass(slots=True)
class Selection:
    """Rows of a list as an operator saw them: those that will change, and the others."""

    bulk: BulkVerb
    params: Mapping[str, Any]
    #: How many rows were selected, counted up to the bound of a list.
    selected: int = 0
    #: The frozen set: the sequence of each process by its id.
    seen: dict[int, int] = field(default_factory=dict)
    #: (row, its steps concerned), of the rows tried.
    rows: list[tuple[Any, list[str]]] = field(default_factory=list)
    #: (row, why it stays as it is), of the rows tried.
    left_out: list[tuple[Any, str]] = field(default_factory=list)
    #: True if there are more rows than one job may have.
    is_capped: bool = False
    #: By step name: how many rows have it among the steps concerned.
    steps: dict[str, int] = field(default_factory=dict)
    #: How many of the rows that will change are paused.
    paused: int = 0
    #: One step per name and agent that the verb would make ready.
    samples: dict[tuple[str, str], tuple[Step, Process]] = field(default_factory=dict)

    @property
    def unseen(self) -> int:
        """Return how many processes of the set the verb was not tried on."""
        return len(self.seen) - len(self.rows)

    @property
    def frozen(self) -> str:
        """Return the frozen set for the form: process and sequence of each."""
        return ",".join(f"{process_id}:{sequence}" for process_id, sequence in self.seen.items())

    @property
    def counted(self) -> str:
        if self.selected > COUNTED:
            return f"{max(COUNTED, len(self.seen))}+"
        return counted(self.selected)

    @property
    def unnamed(self) -> str:
        """Return in words how many rows are left out and not shown."""
        n = self.selected - len(self.rows) - len(self.left_out)
        if self.is_capped or self.unseen or n == 0:
            return ""
        if self.selected > COUNTED:
            return _("and more")
        return ngettext("and %(n)d more", "and %(n)d more", n) % {"n": n}

    def warnings(self) -> list[str]:
        """Return what would still keep the processes from going on now."""
        if self.bulk.name in QUIET_VERBS or not self.samples:
            return []
        situation = wait_facts.read()
        lines = []
        for (name, _agent), (step, process) in self.samples.items():
            why = wait_reasons.obstacle(step, process, situation.now, situation.facts)
            if why:
                lines.append(_("%(step)s %(why)s.") % {"step": name, "why": unended(why)})
        if self.paused and self.bulk.name != "resume":
            text = ngettext(
                "%(n)d of them is paused: nothing of it starts until somebody resumes it.",
                "%(n)d of them are paused: nothing of them starts until somebody resumes them.",
                self.paused,
            )
            lines.append(text % {"n": self.paused})
        return lines

    def keep(self, most: int) -> None:
        """Keep the first ``most`` of the set, and leave the rest for another job."""
        self.seen = dict(list(self.seen.items())[:most])

    def look_at(self, rows: Iterable[Any], now: datetime) -> None:
        """Try the verb on rows; those that it would not change leave the set."""
        rows = list(rows)
        amounts = self.bulk.worth([process_of(row).pk for row in rows])
        for row in rows:
            self._look_at(row, now, amounts)

    def _look_at(self, row: Any, now: datetime, amounts: Mapping[int, Decimal]) -> None:
        target = Target.of(process_of(row), now)
        refusal = self.bulk.refusal(target, self.params, amounts)
        if refusal:
            self.seen.pop(target.process.pk, None)
            self.left_out.append((row, refusal))
            return
        names = self.bulk.concerned(target)
        self.rows.append((row, names))
        self.paused += target.process.paused_at is not None
        for name in names:
            self.steps[name] = self.steps.get(name, 0) + 1
        for step in target.process.steps.all():
            if step.name in names:
                self.samples.setdefault((step.name, step.agent), (step, target.process))


def select(
    queryset: QuerySet[Any],
    path: str,
    bulk: BulkVerb,
    *,
    params: Mapping[str, Any] | None = None,
    tried: Literal["first", "all", "none"] = "first",
) -> Selection:
    """Freeze the selected rows that are worth trying, and try the verb on some of them.

    ``path`` leads from a row to its process.  Rows beyond the limit of a job are left for the
    next one.
    """
    now = dialect.read_clock()
    plain = queryset.prefetch_related(None).order_by(f"{path}pk")
    candidates = bulk.candidates(plain, path, now)
    limit = int(sas.job_limit)
    pairs = list(candidates.values_list(f"{path}pk", f"{path}sequence")[: limit + 1])
    selection = Selection(
        bulk, params or {}, seen=dict(pairs[:limit]), is_capped=len(pairs) > limit
    )
    selection.selected = plain.order_by()[: COUNTED + 1].count()
    ids = list(selection.seen)[: {"first": LOOKED_AT, "all": None, "none": 0}[tried]]
    for begin in range(0, len(ids), LOOKED_AT):
        part = ids[begin : begin + LOOKED_AT]
        rows = queryset.filter(**{f"{path}pk__in": part}).order_by(f"{path}pk")
        selection.look_at(_with_steps(rows, path), now)
    if tried != "none" and not selection.is_capped and len(pairs) <= LOOKED_AT:
        others = plain.exclude(**{f"{path}pk__in": [process_id for process_id, _ in pairs]})
        selection.look_at(_with_steps(others, path)[:NAMED], now)
    return selection


def _with_steps(queryset: QuerySet[Any], path: str) -> QuerySet[Any]:
    plain = queryset.prefetch_related(None)
    return snapshot.with_steps(plain.select_related("process") if path else plain, path)


def process_of(row: Model) -> Process:
    process: Process = row if isinstance(row, Process) else row.process  # type: ignore[attr-defined]
    return process
