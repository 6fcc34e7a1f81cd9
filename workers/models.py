"""The state store's tables.

Only ``workers.store`` writes them.  Rules that the database can hold are constraints, and
every background query has a partial index whose condition is the query's own.
"""

import uuid

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from workers.states import (
    FINAL_PROCESS_STATES,
    OPEN_PROCESS_STATES,
    ProcessState,
    StepState,
)


class Process(models.Model):
    """One run of a workflow.  Its row is the lock of everything below it."""

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    workflow = models.CharField(max_length=100)
    version = models.PositiveIntegerField()
    #: What the process is about, in the words of the app that submitted it.
    subject = models.CharField(max_length=200, db_index=True)
    state = models.CharField(
        max_length=20, choices=ProcessState.choices, default=ProcessState.PENDING
    )
    input = models.JSONField(default=dict)
    #: Steps that, once all processed, put the process past undoing.
    no_return = models.JSONField(default=list)
    #: What a compensating process becomes: compensated or cancelled.
    outcome = models.CharField(max_length=20, null=True)  # noqa: DJ001 (null = not undone)
    #: Number of the last journal row that the submitter may see: gap-free per process.
    sequence = models.PositiveIntegerField(default=0)
    #: A step left its policy to the Scheduler: set by the Supervisor, cleared when carried out.
    needs_decision = models.BooleanField(default=False)
    created_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name_plural = "processes"
        constraints = [
            models.CheckConstraint(
                name="process_state_known", condition=Q(state__in=ProcessState.values)
            ),
            models.CheckConstraint(
                name="process_finished_iff_final",
                condition=Q(state__in=sorted(FINAL_PROCESS_STATES), finished_at__isnull=False)
                | (~Q(state__in=sorted(FINAL_PROCESS_STATES)) & Q(finished_at__isnull=True)),
            ),
            models.CheckConstraint(
                name="process_undone_has_outcome",
                condition=~Q(
                    state__in=[
                        ProcessState.COMPENSATING,
                        ProcessState.COMPENSATED,
                        ProcessState.CANCELLED,
                    ]
                )
                | Q(outcome__in=[ProcessState.COMPENSATED, ProcessState.CANCELLED]),
            ),
        ]
        indexes = [
            models.Index(
                name="process_open_idx",
                fields=["id"],
                condition=Q(state__in=sorted(OPEN_PROCESS_STATES)),
            ),
            models.Index(name="process_error_idx", fields=["id"], condition=Q(state="error")),
            models.Index(
                name="process_decision_idx", fields=["id"], condition=Q(needs_decision=True)
            ),
        ]

    def __str__(self) -> str:
        return f"{self.subject} ({self.workflow} v{self.version})"


class Step(models.Model):
    """One unit of a process: a call of one agent.

    What it needs to run was copied from the step spec when the row was made; code only
    resolves the names of callables.
    """

    process = models.ForeignKey(
        Process, on_delete=models.CASCADE, related_name="steps", db_index=False
    )
    name = models.CharField(max_length=100)
    position = models.PositiveSmallIntegerField()
    state = models.CharField(max_length=20, choices=StepState.choices, default=StepState.WAITING)

    # Copied from the step spec.
    after = models.JSONField(default=list)
    agent = models.CharField(max_length=100)
    fallbacks = models.JSONField(default=list)
    #: The step that undoes this one, if it can be undone: {"name", "agent", ...}.
    undo = models.JSONField(null=True)
    #: The step that this one undoes.
    undoes = models.ForeignKey(
        "self", null=True, on_delete=models.CASCADE, related_name="+", db_index=False
    )
    is_optional = models.BooleanField(default=False)
    #: What follows when it failed for good: error, compensate or wait.
    on_failure = models.CharField(max_length=20, default="error")
    wait_seconds = models.PositiveIntegerField(default=0)
    timeout_seconds = models.PositiveIntegerField()
    failure_threshold = models.PositiveSmallIntegerField()
    backoff_base_seconds = models.FloatField()
    backoff_cap_seconds = models.FloatField()

    # The claim: all null unless processing.
    claim_id = models.UUIDField(null=True)
    locked_by = models.CharField(max_length=200, null=True)  # noqa: DJ001 (null = no claim)
    claimed_at = models.DateTimeField(null=True)
    dispatch_by = models.DateTimeField(null=True)
    started_at = models.DateTimeField(null=True)
    complete_by = models.DateTimeField(null=True)
    delivery = models.UUIDField(null=True)
    #: A reply kept on the row where a message would not do; it never expires.
    reply = models.JSONField(null=True)

    #: Counts claims.
    attempt = models.PositiveIntegerField(default=0)
    #: Started claims that ended by expiry or by a transient fault.
    failure_count = models.PositiveSmallIntegerField(default=0)
    #: Answers that the service could not be reached; they use up no attempt.
    unavailable_count = models.PositiveIntegerField(default=0)
    #: Times the present claim was sent again because nobody started it.
    lost_count = models.PositiveIntegerField(default=0)
    #: Not claimed before this instant; orders the claims of one agent.
    not_before = models.DateTimeField(null=True)
    #: Set by the start, cleared only by proof that nothing happened outside.
    may_have_effect = models.BooleanField(default=False)
    #: An earlier claim ended without telling whether it had its effect.
    is_in_doubt = models.BooleanField(default=False)
    #: Given to the remote service with every call of this step until its effect is undone.
    idempotency_key = models.CharField(max_length=80)

    result = models.JSONField(null=True)
    #: The last fault: {"kind", "code", "message", "at"}.
    fault = models.JSONField(null=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["process_id", "position"]
        constraints = [
            models.UniqueConstraint(name="step_name_unique", fields=["process", "name"]),
            models.UniqueConstraint(name="step_idempotency_key_unique", fields=["idempotency_key"]),
            models.CheckConstraint(
                name="step_state_known", condition=Q(state__in=StepState.values)
            ),
            models.CheckConstraint(
                name="step_claim_iff_processing",
                condition=Q(
                    state=StepState.PROCESSING,
                    claim_id__isnull=False,
                    locked_by__isnull=False,
                    claimed_at__isnull=False,
                    dispatch_by__isnull=False,
                )
                | (
                    ~Q(state=StepState.PROCESSING)
                    & Q(
                        claim_id__isnull=True,
                        locked_by__isnull=True,
                        claimed_at__isnull=True,
                        dispatch_by__isnull=True,
                        started_at__isnull=True,
                        complete_by__isnull=True,
                        delivery__isnull=True,
                        reply__isnull=True,
                    )
                ),
            ),
            models.CheckConstraint(
                name="step_deadline_iff_started",
                condition=Q(started_at__isnull=True, complete_by__isnull=True)
                | Q(started_at__isnull=False, complete_by__gt=F("started_at")),
            ),
            models.CheckConstraint(
                name="step_failures_within_threshold",
                condition=Q(failure_count__lte=F("failure_threshold")),
            ),
            models.CheckConstraint(
                name="step_pending_has_not_before",
                condition=~Q(state=StepState.PENDING) | Q(not_before__isnull=False),
            ),
            models.CheckConstraint(
                name="step_result_iff_processed",
                condition=Q(state=StepState.PROCESSED, result__isnull=False)
                | Q(state=StepState.COMPENSATED)
                | (
                    ~Q(state__in=[StepState.PROCESSED, StepState.COMPENSATED])
                    & Q(result__isnull=True)
                ),
            ),
        ]
        indexes = [
            models.Index(
                name="step_claimable_idx",
                fields=["agent", "not_before", "id"],
                condition=Q(state=StepState.PENDING),
            ),
            # Expired claims by complete_by; claims nobody has started yet by its null.
            models.Index(
                name="step_expiry_idx",
                fields=["complete_by"],
                condition=Q(state=StepState.PROCESSING),
            ),
            models.Index(
                name="step_filed_reply_idx", fields=["id"], condition=Q(reply__isnull=False)
            ),
            models.Index(name="step_error_idx", fields=["id"], condition=Q(state=StepState.ERROR)),
        ]

    def __str__(self) -> str:
        return f"{self.name} of process {self.process_id}"


class Journal(models.Model):
    """What happened to a process, append-only, written with the change itself."""

    # No database constraint: it would lock and re-read the process row, already locked by
    # the same transaction, once for every row written here.
    process = models.ForeignKey(
        Process,
        on_delete=models.CASCADE,
        related_name="journal",
        db_constraint=False,
        db_index=False,
    )
    step = models.ForeignKey(
        Step,
        on_delete=models.CASCADE,
        null=True,
        related_name="journal",
        db_constraint=False,
        db_index=False,
    )
    #: Gap-free number among the rows the submitter may see; null for the others.
    sequence = models.PositiveIntegerField(null=True)
    event = models.CharField(max_length=40)
    before = models.CharField(max_length=20, null=True)  # noqa: DJ001 (null = no state changed)
    after = models.CharField(max_length=20, null=True)  # noqa: DJ001
    attempt = models.PositiveIntegerField(null=True)
    actor = models.CharField(max_length=200)
    detail = models.JSONField(default=dict)
    at = models.DateTimeField()

    class Meta:
        verbose_name_plural = "journal"
        constraints = [
            models.UniqueConstraint(
                name="journal_once_per_attempt",
                fields=["step", "attempt", "event"],
                condition=Q(attempt__isnull=False),
            ),
            models.UniqueConstraint(
                name="journal_sequence_unique",
                fields=["process", "sequence"],
                condition=Q(sequence__isnull=False),
            ),
        ]
        indexes = [models.Index(name="journal_process_idx", fields=["process", "id"])]

    def __str__(self) -> str:
        return f"{self.event} at {self.at:%Y-%m-%d %H:%M:%S}"


class Flow(models.Model):
    """What one agent may have in flight, and its breaker.  Locked while the Scheduler counts.

    The breaker is closed while ``open_until`` is null, open until that instant, and then
    half open: one claim at a time finds out whether the service is back.
    """

    agent = models.CharField(max_length=100, primary_key=True)
    window = models.PositiveIntegerField()
    #: Answers in a row that the service could not be reached.
    unavailable_streak = models.PositiveIntegerField(default=0)
    opened_at = models.DateTimeField(null=True)
    open_until = models.DateTimeField(null=True)

    class Meta:
        verbose_name_plural = "flow"
        constraints = [
            models.CheckConstraint(
                name="flow_breaker_open_since_and_until",
                condition=Q(opened_at__isnull=True, open_until__isnull=True)
                | Q(opened_at__isnull=False, open_until__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return self.agent


class Lease(models.Model):
    """Who performs a periodic duty just now, and when it was last performed."""

    name = models.CharField(max_length=50, primary_key=True)
    holder = models.CharField(max_length=200, null=True)  # noqa: DJ001 (null = free)
    expires_at = models.DateTimeField(null=True)
    performed_at = models.DateTimeField(null=True)
    #: Where the next round goes on, for duties that walk a table in portions.
    cursor = models.BigIntegerField(default=0)

    def __str__(self) -> str:
        return self.name


class Alert(models.Model):
    """A message to an operator: one per cause until somebody acknowledges it."""

    cause = models.CharField(max_length=200)
    code = models.CharField(max_length=60)
    message = models.TextField()
    process = models.ForeignKey(Process, null=True, on_delete=models.CASCADE, related_name="alerts")
    step = models.ForeignKey(Step, null=True, on_delete=models.CASCADE, related_name="alerts")
    raised_at = models.DateTimeField()
    last_raised_at = models.DateTimeField()
    times = models.PositiveIntegerField(default=1)
    acknowledged_at = models.DateTimeField(null=True)
    acknowledged_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    comment = models.TextField(blank=True)

    class Meta:
        ordering = ["-last_raised_at"]
        permissions = [("acknowledge_alert", _("Can acknowledge an alert"))]
        constraints = [
            models.UniqueConstraint(
                name="alert_open_once_per_cause",
                fields=["cause"],
                condition=Q(acknowledged_at__isnull=True),
            )
        ]

    def __str__(self) -> str:
        return self.message
