"""The children of a process on its page: counts, a bar, the first faults; and its parent."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from django.db.models import Q
from django.urls import reverse
from django.utils.translation import gettext as _

from workers.client import children
from workers.definitions.children import CHILDREN
from workers.desk.admin import badges
from workers.models import Child, ChildGroup, Process
from workers.rules.masks import Mask
from workers.states import UNDONE_PROCESS_STATES, ProcessState

#: How many children with a fault are named.
FAULTS_SHOWN = 5


@dataclass(frozen=True, slots=True)
class FaultLine:
    """A child in error, or one that failed."""

    index: int
    state: str
    url: str
    fault: str


@dataclass(frozen=True, slots=True)
class ChildGroupLine:
    """The children of one use of a step."""

    group: ChildGroup
    step: str
    under_way: int
    faults: Sequence[FaultLine]
    #: The list of its children, by state if wanted.
    url: str

    @property
    def ended(self) -> int:
        return self.group.processed + self.group.failed

    @property
    def queued(self) -> int:
        return max(0, (self.group.total or 0) - self.ended - self.under_way)

    @property
    def failures(self) -> str:
        """Return what ``failed`` counts: once births are stopped, the undone ones, too."""
        return _("undone or failed") if self.group.stopped else _("failed")

    @property
    def words(self) -> str:
        """Return what happens to the children now."""
        if self.group.is_undoing:
            return _("being undone")
        if self.group.stopped:
            return _("no more are born")
        return _("paused") if self.group.is_paused else _("under way")


@dataclass(frozen=True, slots=True)
class ParentLine:
    """The process of which this one is a child."""

    index: int | None
    subject: str
    url: str


def page_of(process_id: int) -> str:
    return reverse("admin:workers_process_change", args=[process_id])


def of(process: Process, mask: Mask) -> list[ChildGroupLine]:
    """Return the groups of a process that was read with its steps, the newest first.

    Without a step with children, sends no statement.
    """
    names = {step.pk: step.name for step in process.steps.all() if step.agent == CHILDREN}
    if not names:
        return []
    groups = ChildGroup.objects.filter(step__in=names).order_by("-pk")
    listed = reverse("admin:workers_process_changelist")
    return [
        ChildGroupLine(
            group,
            names[group.step_id],
            Child.objects.filter(group=group, state__in=("open", "ended")).count(),
            _faults(group, mask),
            f"{listed}?group={group.pk}",
        )
        for group in groups
    ]


def _faults(group: ChildGroup, mask: Mask) -> list[FaultLine]:
    failed = Q(outcome__in=sorted(UNDONE_PROCESS_STATES)) | Q(process__state=ProcessState.ERROR)
    rows = Child.objects.filter(failed, group=group, process__isnull=False)
    rows = rows.select_related("process").order_by("index")[:FAULTS_SHOWN]
    return [
        FaultLine(
            child.index,
            child.state,
            page_of(child.process or 0),
            mask.text(badges.fault_text(child.fault)) if child.fault else "",
        )
        for child in children.of_rows(list(rows))
    ]


def parent_of(process: Process, mask: Mask) -> ParentLine | None:
    """Return the parent of a child; without one, sends no statement."""
    if process.group_id is None:
        return None
    parent = Process.objects.filter(steps__child_groups=process.group_id).first()
    if parent is None:
        # It was deleted.
        return None
    index = Child.objects.filter(process=process).values_list("index", flat=True).first()
    return ParentLine(index, mask.text(parent.subject), page_of(parent.pk))


def facts(groups: Sequence[ChildGroupLine], parent: ParentLine | None) -> dict[str, Any]:
    """Return both as JSON; nothing for a process that has neither."""
    if parent is None and not groups:
        return {}
    return {
        "parent": parent and {"subject": parent.subject, "index": parent.index},
        "children": [
            {
                "step": line.step,
                "group": line.group.pk,
                "total": line.group.total,
                "processed": line.group.processed,
                "failed": line.group.failed,
                "under_way": line.under_way,
                "queued": line.queued,
                "faults": [asdict(fault) for fault in line.faults],
            }
            for line in groups
        ],
    }
