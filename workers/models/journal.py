"""The journal: what happened to processes, and what operators did."""

from typing import ClassVar

from django.db import models
from django.db.models import Q, Value
from django.db.models.functions import Left
from django.db.models.lookups import Exact
from django.utils.translation import gettext_lazy as _

from workers.models.process import Process
from workers.models.step import Step
from workers.states import PEOPLE

#: Selects acts of people.  Written without a ``%`` in any parameter, which an index would store
#: doubled.
BY_PEOPLE = Q(Exact(Left("actor", len(PEOPLE)), Value(PEOPLE)))


class Journal(models.Model):
    """What happened to a process, append-only, written with the change itself.

    Acts of operators on an agent, or on everything at once, have no process.
    """

    # No database constraint: it would lock and re-read the process row, already locked by
    # the same transaction, once for every row written here.
    process = models.ForeignKey(
        Process,
        on_delete=models.CASCADE,
        null=True,
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
    #: Gap-free number among the rows the submitter may see; null for the others.  Assigned with the
    #: process, whose last number is a condition of that write; among these rows it rises with id.
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
            # For events that move nothing.  A move is written with its step, whose state, claim and
            # attempt are conditions of that write: it cannot happen twice.
            models.UniqueConstraint(
                name="journal_note_once_per_attempt",
                fields=["step", "attempt", "event"],
                condition=Q(attempt__isnull=False, after__isnull=True),
            ),
        ]
        indexes = [
            models.Index(name="journal_process_idx", fields=["process", "id"]),
            # Few rows, which operators look for; other rows cost one comparison.
            models.Index(
                name="journal_expired_idx", fields=["process"], condition=Q(event="expired")
            ),
            # Acts of people in order of time, with all columns that the audit filters by.
            models.Index(
                name="journal_people_idx",
                fields=["at", "id", "actor", "event", "step"],
                condition=BY_PEOPLE,
            ),
        ]

    def __str__(self) -> str:
        return f"{self.event} at {self.at:%Y-%m-%d %H:%M:%S %Z}"


class _Acts(models.Manager["Act"]):
    def get_queryset(self) -> models.QuerySet["Act"]:
        return super().get_queryset().filter(BY_PEOPLE)


class Act(Journal):
    """A journal row that says what a person did; for the audit, with a right of its own."""

    objects: ClassVar[models.Manager] = _Acts()

    class Meta:
        proxy = True
        verbose_name = _("act")
        verbose_name_plural = _("audit")
        default_permissions = ("view",)
