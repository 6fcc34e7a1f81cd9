"""The children of a step: a group, and a row for each child."""

from django.db import models
from django.db.models import F, Q

from workers.models.process import Process
from workers.models.step import Step
from workers.states import ChildState


class ChildGroup(models.Model):
    """The children of one use of a step.  Its row is the lock of their births and of the count.

    Whoever holds it waits for no process: it is locked after a process, never before one.
    """

    step = models.ForeignKey(Step, on_delete=models.CASCADE, related_name="child_groups")
    #: The step's idempotency key: once it was undone, its next use has another group.
    key = models.CharField(max_length=80, unique=True)
    workflow = models.CharField(max_length=100)
    #: 1: its children are those of a process that is no child itself.
    depth = models.PositiveSmallIntegerField()
    at_once = models.PositiveIntegerField()
    #: The share of children that may fail.
    tolerate = models.FloatField()
    #: How many children there are; null until ``over`` was asked.
    total = models.PositiveIntegerField(null=True)
    #: So many of them have a row, ...
    expanded_to = models.PositiveIntegerField(default=0)
    #: ... and none before this index is queued.
    born_to = models.PositiveIntegerField(default=0)
    #: The counted ones: those whose processing counts, and those that ended without it.
    processed = models.PositiveIntegerField(default=0)
    failed = models.PositiveIntegerField(default=0)
    #: No more are born: the step has ended, or is being undone.
    stopped = models.BooleanField(default=False)
    #: The children are being undone.
    is_undoing = models.BooleanField(default=False)
    #: The children under way were paused with their parent.
    is_paused = models.BooleanField(default=False)
    #: The Scheduler has to look at it.
    is_flagged = models.BooleanField(default=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                name="childgroup_undoing_is_stopped",
                condition=Q(is_undoing=False) | Q(stopped=True),
            ),
            models.CheckConstraint(
                name="childgroup_counts_within_total",
                condition=Q(total__isnull=True, expanded_to=0)
                | Q(expanded_to__lte=F("total"), born_to__lte=F("expanded_to")),
            ),
        ]
        indexes = [
            models.Index(
                name="childgroup_flagged_idx", fields=["id"], condition=Q(is_flagged=True)
            ),
            # Those that the poll looks at.
            models.Index(
                name="childgroup_active_idx",
                fields=["id"],
                condition=Q(stopped=False) | Q(is_undoing=True),
            ),
        ]

    def __str__(self) -> str:
        return f"children of step {self.step_id}"


class Child(models.Model):
    """One child: its item, and the process of it once that is born."""

    group = models.ForeignKey(
        ChildGroup, on_delete=models.CASCADE, related_name="children", db_index=False
    )
    index = models.PositiveIntegerField()
    #: The child's input.
    item = models.JSONField()
    process = models.OneToOneField(
        Process, null=True, on_delete=models.SET_NULL, related_name="child", db_constraint=False
    )
    state = models.CharField(max_length=10, choices=ChildState.choices, default=ChildState.QUEUED)
    #: How its process ended: processed, compensated, cancelled; ``lasting``: processed, and past
    #: its point of no return when it was to be undone.
    outcome = models.CharField(max_length=20, null=True)  # noqa: DJ001 (null = it has not ended)

    class Meta:
        verbose_name_plural = "children"
        constraints = [
            models.UniqueConstraint(name="child_index_unique", fields=["group", "index"]),
            models.CheckConstraint(
                name="child_state_known", condition=Q(state__in=ChildState.values)
            ),
            models.CheckConstraint(
                name="child_outcome_once_ended",
                condition=Q(state=ChildState.QUEUED, outcome__isnull=True, process__isnull=True)
                | Q(state=ChildState.OPEN)
                | Q(state__in=[ChildState.ENDED, ChildState.COUNTED], outcome__isnull=False),
            ),
        ]
        indexes = [
            # Those under way, and the ended ones, which the Scheduler has to count.
            models.Index(
                name="child_under_way_idx",
                fields=["state", "group"],
                condition=Q(state__in=[ChildState.OPEN, ChildState.ENDED]),
            ),
        ]

    def __str__(self) -> str:
        return f"child {self.index} of group {self.group_id}"
