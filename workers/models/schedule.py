"""Schedules: when a workflow begins next by the clock."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _


class Schedule(models.Model):
    """One schedule, declared in code or made at run time, and where it stands.

    The instants before ``next_at`` are dealt with: it moves in the commit that fires them.
    """

    name = models.CharField(max_length=100, unique=True)
    #: In the code: the row says what the code said last, but for a function as input.
    is_declared = models.BooleanField()
    workflow = models.CharField(max_length=100)
    cron = models.CharField(max_length=200, blank=True)
    every_seconds = models.PositiveIntegerField(null=True)
    time_zone = models.CharField(max_length=100)
    overlap = models.CharField(max_length=10)
    catch_up_seconds = models.PositiveIntegerField()
    jitter_seconds = models.PositiveIntegerField()
    #: null = a function of the code.
    input = models.JSONField(null=True)
    #: Texts by name, as processes keep them.
    attributes = models.JSONField(default=dict)
    subject = models.CharField(max_length=200, blank=True)
    #: The first instant that is not dealt with.
    next_at = models.DateTimeField()
    #: When to look at it: later by its jitter, or while it waits or cannot be fired.
    due_at = models.DateTimeField()
    #: When ``next_at`` was set: an instant ahead shows that the clock was.
    set_at = models.DateTimeField()
    paused_at = models.DateTimeField(null=True)
    #: The instant that an operator has left out.
    skip_at = models.DateTimeField(null=True)
    #: The instant that fired last, and its process.
    last_at = models.DateTimeField(null=True)
    last_process = models.BigIntegerField(null=True)
    #: How many instants were later than ``catch_up``, and came while the process before ran.
    missed = models.PositiveIntegerField(default=0)
    skipped = models.PositiveIntegerField(default=0)
    #: Why it could not fire when last tried; empty = it could.
    problem = models.CharField(max_length=300, blank=True)
    #: The first instant of a backfill that is not dealt with, and its last; null = none is left.
    backfill_at = models.DateTimeField(null=True)
    backfill_until = models.DateTimeField(null=True)

    class Meta:
        ordering = ["name"]
        permissions = [("operate_schedule", _("Can pause, run, skip and backfill schedules"))]
        constraints = [
            models.CheckConstraint(
                name="schedule_cron_or_every",
                condition=Q(cron="", every_seconds__isnull=False)
                | Q(~Q(cron=""), every_seconds__isnull=True),
            ),
            models.CheckConstraint(
                name="schedule_overlap_known",
                condition=Q(overlap__in=["skip", "queue", "both", "replace"]),
            ),
            models.CheckConstraint(
                name="schedule_backfill_whole",
                condition=Q(backfill_at__isnull=True, backfill_until__isnull=True)
                | Q(backfill_at__isnull=False, backfill_until__isnull=False),
            ),
        ]
        indexes = [
            models.Index(
                name="schedule_due_idx", fields=["due_at"], condition=Q(paused_at__isnull=True)
            ),
        ]

    def __str__(self) -> str:
        return self.name
