"""Requests for a second person's approval."""

from django.db import models
from django.db.models import Q, Value
from django.utils.translation import gettext_lazy as _

from workers.models.process import Process
from workers.states import UndoRequestState


class UndoRequest(models.Model):
    """An act that one person asks for, and another approves or declines."""

    process = models.ForeignKey(Process, on_delete=models.CASCADE, related_name="undo_requests")
    #: A name in ``rules.approved_acts.VERBS``, or ``input``.
    verb = models.CharField(max_length=20)
    #: The step that it is about; empty = the whole process.
    step = models.CharField(max_length=200, blank=True, default="", db_default="")
    state = models.CharField(
        max_length=10,
        choices=UndoRequestState.choices,
        default=UndoRequestState.WAITING,
        db_default="waiting",
    )
    #: Further arguments of the verb: a result, an answer, changes of the input.
    given = models.JSONField(default=dict, db_default=Value({}, models.JSONField()))
    #: What it would move at the time of the request: names of undo steps in order, of steps that it
    #: ends, or paths of the input.
    undo = models.JSONField()
    #: The process's sequence number then: a process that has moved since is not changed.
    sequence = models.PositiveIntegerField()
    #: What the process was worth; null = unknown.
    amount = models.DecimalField(max_digits=16, decimal_places=2, null=True)
    asked_by = models.CharField(max_length=200)
    reason = models.TextField()
    asked_at = models.DateTimeField()
    #: Actor who approved or declined it, or tried to too late; empty = not decided yet.
    decided_by = models.CharField(max_length=200, blank=True, default="", db_default="")
    comment = models.TextField(blank=True, default="", db_default="")
    decided_at = models.DateTimeField(null=True)
    #: Why it was too late: ``{"code", "params"}`` of ``rules.refusals``; null = it was not.
    refusal = models.JSONField(null=True)

    class Meta:
        ordering = ["-id"]
        default_permissions = ("view",)
        verbose_name = _("request for approval")
        verbose_name_plural = _("requests for approval")
        permissions = [("decide_undorequest", _("Can approve and decline requests for approval"))]
        constraints = [
            models.CheckConstraint(
                name="undo_request_state_known",
                condition=Q(state__in=sorted(UndoRequestState.values)),
            ),
            models.UniqueConstraint(
                name="undo_request_waiting_once",
                fields=["process"],
                condition=Q(state=UndoRequestState.WAITING),
            ),
        ]
        indexes = [
            models.Index(
                name="undo_request_waiting_idx",
                fields=["asked_at"],
                condition=Q(state=UndoRequestState.WAITING),
            ),
            models.Index(name="undo_request_at_idx", fields=["asked_at"]),
        ]

    def __str__(self) -> str:
        return f"Request {self.pk}"
