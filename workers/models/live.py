"""Narrow rows by which steps are found."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from workers.models.step import Step
from workers.states import BLOCKED, LIVE_STEP_STATES, StepState


class LiveStep(models.Model):
    """The columns of a pending, processing or failed step by which it is found.

    Triggers keep it equal to the step (``migrations._live_steps``), in the same transaction,
    whatever writes the step.  Every search for steps by state reads this table, so that steps need
    no such index and their changes touch none (HOT).
    """

    step = models.OneToOneField(
        Step, on_delete=models.CASCADE, primary_key=True, related_name="live", db_constraint=False
    )
    agent = models.CharField(max_length=100)
    #: That of the step; or blocked, while a pending step waits for a place in its key.
    state = models.CharField(
        max_length=20,
        choices=[
            *((state.value, state.label) for state in LIVE_STEP_STATES),
            (BLOCKED, _("Blocked")),
        ],
    )
    turn = models.DateTimeField()
    not_before = models.DateTimeField(null=True)
    #: When its claim may have expired; null unless processing.
    look_at = models.DateTimeField(null=True)
    #: It waits for an answer from outside, and takes up no room.
    is_deferred = models.BooleanField()
    #: The key in which its calls need a place; while it is blocked, the key that is full.
    limit_key = models.CharField(max_length=400, null=True)  # noqa: DJ001 (null = none)

    class Meta:
        db_table = "workers_live"
        constraints = [
            models.CheckConstraint(
                name="live_look_at_iff_processing",
                condition=Q(state=StepState.PROCESSING, look_at__isnull=False)
                | Q(
                    state__in=[StepState.PENDING, StepState.ERROR, BLOCKED],
                    look_at__isnull=True,
                    is_deferred=False,
                ),
            ),
        ]
        indexes = [
            models.Index(
                name="live_claimable_idx",
                fields=["agent", "turn", "not_before", "step"],
                condition=Q(state=StepState.PENDING),
            ),
            models.Index(
                name="live_in_flight_idx",
                fields=["agent"],
                condition=Q(state=StepState.PROCESSING, is_deferred=False),
            ),
            models.Index(name="live_deferred_idx", fields=["agent"], condition=Q(is_deferred=True)),
            # Partial, so no count uses it: a plan made while the table is empty would take either.
            models.Index(
                name="live_look_at_idx", fields=["look_at"], condition=Q(look_at__isnull=False)
            ),
            # How many calls of a key are under way, and who waits for a place in it.
            models.Index(
                name="live_key_idx",
                fields=["limit_key", "state", "turn", "step"],
                condition=Q(limit_key__isnull=False),
            ),
            models.Index(name="live_blocked_idx", fields=["limit_key"], condition=Q(state=BLOCKED)),
            models.Index(
                name="live_error_idx", fields=["step"], condition=Q(state=StepState.ERROR)
            ),
        ]

    def __str__(self) -> str:
        return f"step {self.step_id}, {self.state}"
