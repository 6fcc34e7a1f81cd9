"""Acts on many processes: the order, the frozen set, and the result for each."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from workers.desk.states import ItemState, JobState
from workers.models.process import Process


class BulkJob(models.Model):
    """One verb on many processes.  Its row is the lock of its items.

    What became of the processes afterwards is not stored here: it is read from them.
    """

    #: A name in ``rules.job_verbs``.
    verb = models.CharField(max_length=20)
    state = models.CharField(
        max_length=10, choices=JobState.choices, default=JobState.PLANNED, db_default="planned"
    )
    actor = models.CharField(max_length=200)
    reason = models.TextField()
    #: Options of the verb: ``{"nothing_happened": true}``.
    params = models.JSONField(default=dict)
    #: Where its set comes from: ``{"list": "orders.order", "query": "needs=error"}``,
    #: ``{"incident": KEY}``, ``{"job": ID, "result": NAME}``, ``{"cause": DIGEST}``...
    source = models.JSONField(default=dict)
    #: Processes a second at most; null = as fast as possible.
    rate_per_second = models.FloatField(null=True)
    #: What is left of the rate, and when that was last calculated.
    tokens = models.FloatField(default=0, db_default=0)
    refilled_at = models.DateTimeField(null=True)
    #: The job pauses by itself after this many changes; 0 = it goes on to its end.
    sample = models.PositiveIntegerField(default=0, db_default=0)
    total = models.PositiveIntegerField(default=0, db_default=0)
    #: Items worked through, those refused among them.
    done = models.PositiveIntegerField(default=0, db_default=0)
    refused = models.PositiveIntegerField(default=0, db_default=0)
    created_at = models.DateTimeField()
    begun_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    #: The actor who last paused, resumed or stopped it; empty = none.
    steered_by = models.CharField(max_length=200, blank=True, default="", db_default="")

    class Meta:
        ordering = ["-id"]
        verbose_name = _("job")
        verbose_name_plural = _("jobs")
        permissions = [("operate_bulkjob", _("Can pause, resume and stop a job"))]
        constraints = [
            models.CheckConstraint(
                name="job_state_known", condition=Q(state__in=sorted(JobState.values))
            ),
            models.CheckConstraint(
                name="job_rate_above_zero",
                condition=Q(rate_per_second__isnull=True) | Q(rate_per_second__gt=0),
            ),
        ]
        indexes = [
            models.Index(
                name="job_running_idx", fields=["id"], condition=Q(state=JobState.RUNNING)
            ),
            models.Index(
                name="job_ended_idx", fields=["ended_at"], condition=Q(ended_at__isnull=False)
            ),
        ]

    def __str__(self) -> str:
        return f"Job {self.pk}"

    @property
    def left(self) -> int:
        """Return how many items are not worked through yet."""
        return self.total - self.done

    @property
    def is_sampled(self) -> bool:
        """Say whether it waits for somebody to check the results of its sample."""
        has_paused = self.state == JobState.PAUSED and not self.steered_by
        return has_paused and 0 < self.sample <= self.landed

    @property
    def landed(self) -> int:
        """Return how many processes it changed."""
        return self.done - self.refused


class BulkItem(models.Model):
    """One process of a job: as it was when the set was frozen, and what the job did to it."""

    job = models.ForeignKey(BulkJob, on_delete=models.CASCADE, related_name="items", db_index=False)
    # No database constraint: it would lock the process row once for every item.
    process = models.ForeignKey(
        Process, on_delete=models.CASCADE, related_name="bulk_items", db_constraint=False
    )
    #: The process's sequence as it was shown: a process that has moved since is left alone.
    sequence = models.PositiveIntegerField()
    state = models.CharField(
        max_length=10, choices=ItemState.choices, default=ItemState.WAITING, db_default="waiting"
    )
    #: Why it was refused: ``{"code", "params"}`` of ``rules.refusals``; null = it was not.
    refusal = models.JSONField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(name="item_once_per_job", fields=["job", "process"]),
            models.CheckConstraint(
                name="item_state_known", condition=Q(state__in=sorted(ItemState.values))
            ),
        ]
        indexes = [
            models.Index(
                name="item_waiting_idx",
                fields=["job", "process"],
                condition=Q(state=ItemState.WAITING),
            ),
            models.Index(
                name="item_refused_idx",
                fields=["job", "process"],
                condition=Q(state=ItemState.REFUSED),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.job_id}: process {self.process_id}, {self.state}"
