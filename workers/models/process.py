"""One run of a workflow."""

import uuid

from django.db import models
from django.db.models import Q, Value
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from workers.states import (
    FINAL_PROCESS_STATES,
    FORWARD_PROCESS_STATES,
    OPEN_PROCESS_STATES,
    UNDONE_PROCESS_STATES,
    ProcessState,
)


class Process(models.Model):
    """One run of a workflow.  Its row is the lock of everything below it."""

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    workflow = models.CharField(max_length=100)
    version = models.PositiveIntegerField()
    #: What the process is about, in the words of the app that submitted it.
    subject = models.CharField(max_length=200)
    state = models.CharField(
        max_length=20, choices=ProcessState.choices, default=ProcessState.PENDING
    )
    input = models.JSONField(default=dict)
    #: Steps that, once all processed, put the process past undoing.
    no_return = models.JSONField(default=list)
    #: What a compensating process becomes: compensated, cancelled, or processing again.
    outcome = models.CharField(max_length=20, null=True)  # noqa: DJ001 (null = not undone)
    #: Number of the last journal row that the submitter may see: gap-free per process.
    sequence = models.PositiveIntegerField(default=0)
    #: A step needs its failure policy from the Scheduler: set by the Supervisor, cleared once
    #: carried out.
    needs_decision = models.BooleanField(default=False)
    #: The submitter it belongs to, for fairness among submitters; empty = none.
    lane = models.CharField(max_length=200, default="", db_default="")
    #: Its place in every queue: the instant at which it counts as submitted.
    turn = models.DateTimeField(default=timezone.now, db_default=Now())
    #: No step is claimed while this is set.
    paused_at = models.DateTimeField(null=True)
    #: When it must have ended; null once that has been dealt with.
    deadline_at = models.DateTimeField(null=True)
    on_deadline = models.CharField(max_length=20, default="compensate", db_default="compensate")
    #: Steps that begin again once they are undone.
    renews = models.JSONField(default=list, db_default=Value([], models.JSONField()))
    #: Paths of the input that an operator may change.
    editable = models.JSONField(default=list, db_default=Value([], models.JSONField()))
    #: The transaction that ends it calls its workflow's ``on_end``.
    has_on_end = models.BooleanField(default=False, db_default=False)
    #: The submitter's own key; null = none.
    submission_key = models.CharField(max_length=400, null=True)  # noqa: DJ001 (null = none)
    #: Which use of the key, of its workflow, this is: 1, 2, 3...
    key_use = models.PositiveIntegerField(null=True)
    #: Until when the key is taken; null = until the process ends.
    key_until = models.DateTimeField(null=True)
    #: The child group that it is born in; null = it is no child.
    group = models.ForeignKey(
        "ChildGroup",
        null=True,
        on_delete=models.DO_NOTHING,
        related_name="+",
        db_index=False,
        db_constraint=False,
    )
    #: The values by which its agents are limited, by attribute; null = none is.
    limit_values = models.JSONField(null=True)
    #: The key of which one process may run at a time; null = any number may.
    exclusive = models.CharField(max_length=400, null=True)  # noqa: DJ001 (null = none)
    created_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    #: When its journal was pruned; null = it is whole.
    pruned_at = models.DateTimeField(null=True)
    #: When its personal data were erased; null = it has them.
    erased_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name_plural = "processes"
        permissions = [
            ("resubmit_process", _("Can resubmit a process in error")),
            ("pause_process", _("Can pause and resume a process")),
            ("cancel_process", _("Can cancel a process")),
            ("compensate_process", _("Can undo a process")),
            ("renew_process", _("Can begin a process again from an earlier step")),
            ("edit_input", _("Can edit the input of a process")),
            ("redo_step", _("Can have a skipped step done again")),
            ("retry_step", _("Can have a step tried again at once")),
            ("extend_step", _("Can change the time a step has")),
            ("complete_step", _("Can complete a step by hand")),
            ("skip_step", _("Can skip a step")),
            ("answer_step", _("Can answer a step that waits for somebody")),
            ("show_personal", _("Can see personal data unmasked")),
            ("note_process", _("Can write notes on a process")),
            ("erase_process", _("Can erase the personal data of a process")),
            ("erase_person", _("Can export and erase all data of a person")),
        ]
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
                | Q(
                    outcome__in=[
                        ProcessState.COMPENSATED,
                        ProcessState.CANCELLED,
                        ProcessState.PROCESSING,
                    ]
                ),
            ),
        ]
        indexes = [
            # Searches by subject, whole or by its beginning.
            models.Index(
                name="process_subject_idx",
                fields=["subject"],
                opclasses=["varchar_pattern_ops"],
            ),
            # The last use of a key, and searches by its beginning.
            models.Index(
                name="process_key_idx",
                fields=["submission_key", "workflow", "key_use"],
                opclasses=["varchar_pattern_ops", "varchar_ops", "int4_ops"],
                condition=Q(submission_key__isnull=False),
            ),
            # Who holds an exclusive key, and who waits for it.
            models.Index(
                name="process_exclusive_idx",
                fields=["exclusive", "state", "turn"],
                condition=Q(exclusive__isnull=False),
            ),
            # The newest of a workflow, however rare.
            models.Index(name="process_workflow_idx", fields=["workflow", "id"]),
            models.Index(
                name="process_open_idx",
                fields=["id"],
                condition=Q(state__in=sorted(OPEN_PROCESS_STATES)),
            ),
            models.Index(name="process_error_idx", fields=["id"], condition=Q(state="error")),
            # Few among very many that were processed.
            models.Index(
                name="process_undone_idx",
                fields=["state", "id"],
                condition=Q(state__in=sorted(UNDONE_PROCESS_STATES)),
            ),
            models.Index(
                name="process_decision_idx", fields=["id"], condition=Q(needs_decision=True)
            ),
            models.Index(
                name="process_lane_idx",
                fields=["lane", "turn"],
                condition=~Q(lane="") & Q(state__in=sorted(FORWARD_PROCESS_STATES)),
            ),
            # The few that operators paused.
            models.Index(
                name="process_paused_idx",
                fields=["paused_at"],
                condition=Q(paused_at__isnull=False, finished_at__isnull=True),
            ),
            # Processes whose journal may be pruned, the oldest first.
            models.Index(
                name="process_prunable_idx",
                fields=["finished_at"],
                condition=Q(finished_at__isnull=False, pruned_at__isnull=True),
            ),
            # Processes that may be deleted.
            models.Index(
                name="process_pruned_idx",
                fields=["finished_at"],
                condition=Q(pruned_at__isnull=False),
            ),
            models.Index(
                name="process_deadline_idx",
                fields=["deadline_at"],
                condition=Q(
                    deadline_at__isnull=False, state__in=["error", *sorted(FORWARD_PROCESS_STATES)]
                ),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.subject} ({self.workflow} v{self.version})"
