"""One unit of a process."""

from datetime import datetime
from typing import Any

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils import timezone

from workers.models.process import Process
from workers.models.spec import Spec
from workers.specs import SpecRow
from workers.states import NEVER, StepState


class Step(models.Model):
    """One unit of a process: a call of one agent.

    All that it needs to run is on the row and its spec, whatever the code says later; code only
    resolves the names of callables.
    """

    process = models.ForeignKey(
        Process, on_delete=models.CASCADE, related_name="steps", db_index=False
    )
    name = models.CharField(max_length=100)
    position = models.PositiveSmallIntegerField()
    state = models.CharField(max_length=20, choices=StepState.choices, default=StepState.WAITING)

    agent = models.CharField(max_length=100)
    #: Names what it has from its declaration: see ``spec``.
    spec_digest = models.BigIntegerField()
    #: The step that this one undoes.
    undoes = models.ForeignKey(
        "self", null=True, on_delete=models.CASCADE, related_name="+", db_index=False
    )
    failure_threshold = models.PositiveSmallIntegerField()

    # The claim: all null unless processing.
    claim_id = models.UUIDField(null=True)
    locked_by = models.CharField(max_length=200, null=True)  # noqa: DJ001 (null = no claim)
    started_at = models.DateTimeField(null=True)
    complete_by = models.DateTimeField(null=True)
    delivery = models.UUIDField(null=True)
    #: A reply stored on the row instead of sent in a message; it never expires.
    reply = models.JSONField(null=True)
    #: The agent has asked, and the answer comes by callback: {"since", "question", ...}.
    deferral = models.JSONField(null=True)
    #: When an operator is told that a callback has not come.
    escalate_at = models.DateTimeField(null=True)

    #: An answer that came before the step had asked.
    early = models.JSONField(null=True)
    #: Counts claims.
    attempt = models.PositiveIntegerField(default=0)
    #: Started claims that ended by expiry or by a transient fault.
    failure_count = models.PositiveSmallIntegerField(default=0)
    #: Answers that said that the service could not be reached; they use up no attempt.
    unavailable_count = models.PositiveIntegerField(default=0)
    #: Not claimed before this instant.
    not_before = models.DateTimeField(null=True)
    #: Orders the claims of one agent: the process's turn.
    turn = models.DateTimeField(default=timezone.now, db_default=Now())
    #: First start since the step got its attempts, at first or again.
    began_at = models.DateTimeField(null=True)
    #: First start with the present idempotency key.
    key_used_at = models.DateTimeField(null=True)
    #: Set by the start, cleared only by proof that nothing happened outside.
    may_have_effect = models.BooleanField(default=False)
    #: An earlier claim ended, and it is unknown whether it had its effect.
    is_in_doubt = models.BooleanField(default=False)
    #: A person did it, or stated that it happened: no service can undo that.
    is_by_hand = models.BooleanField(default=False, db_default=False)
    #: Given to the remote service with every call of this step until its effect is undone.  It
    #: begins with the uid of the process and has the step's position: no two steps have the same.
    idempotency_key = models.CharField(max_length=80)
    #: The key in which its calls need a place (``rules.limit_keys``); null = they need none.
    limit_key = models.CharField(max_length=400, null=True)  # noqa: DJ001 (null = none)

    result = models.JSONField(null=True)
    #: The last fault: {"kind", "code", "message", "at"}.
    fault = models.JSONField(null=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["process_id", "position"]
        constraints = [
            models.UniqueConstraint(name="step_name_unique", fields=["process", "name"]),
            models.CheckConstraint(
                name="step_state_known", condition=Q(state__in=StepState.values)
            ),
            models.CheckConstraint(
                name="step_claim_iff_processing",
                condition=Q(
                    state=StepState.PROCESSING,
                    claim_id__isnull=False,
                    locked_by__isnull=False,
                    started_at__isnull=False,
                    complete_by__isnull=False,
                )
                | (
                    ~Q(state=StepState.PROCESSING)
                    & Q(
                        claim_id__isnull=True,
                        locked_by__isnull=True,
                        started_at__isnull=True,
                        complete_by__isnull=True,
                        delivery__isnull=True,
                        reply__isnull=True,
                        deferral__isnull=True,
                        escalate_at__isnull=True,
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
            # When a step is deleted, the database looks for the step that undoes it.
            models.Index(
                name="step_undoes_idx", fields=["undoes"], condition=Q(undoes__isnull=False)
            ),
            models.Index(
                name="step_filed_reply_idx", fields=["id"], condition=Q(reply__isnull=False)
            ),
            models.Index(
                name="step_escalation_idx",
                fields=["escalate_at"],
                condition=Q(escalate_at__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} of process {self.process_id}"

    @property
    def spec(self) -> SpecRow:
        """What the step has from its declaration; mostly without a query."""
        return Spec.one(self.spec_digest, self._digests_beside)

    def _digests_beside(self) -> models.QuerySet[Any]:
        # A page asks for the specs of all steps of a process.
        steps = Step.objects.filter(process=self.process_id)
        return steps.order_by().values("spec_digest")

    @property
    def due_by(self) -> datetime | None:
        """When the present attempt must be over; None: never, or there is none."""
        return None if self.complete_by == NEVER else self.complete_by

    @property
    def timeout_seconds(self) -> int:
        """The time of one attempt."""
        return self.spec.timeout_seconds
