"""One cause that operators deal with, and every alert that was raised because of it."""

from django.conf import settings
from django.db import models
from django.db.models import Q, QuerySet
from django.utils.translation import gettext_lazy as _

from workers.desk.states import IncidentState
from workers.models import Alert


class Incident(models.Model):
    """One cause with its alerts: there is one per key until it is resolved.

    Its alerts have its number in their ``group_id``.  Its title is a code with parameters
    and is put into words when it is read.
    """

    key = models.CharField(max_length=100)
    #: What the cause concerns: failure, agent, duty, definition, submitter or other.
    kind = models.CharField(max_length=20)
    #: The code of its alerts, which determines the remedy; and the parameters of its title.
    code = models.CharField(max_length=60)
    params = models.JSONField(default=dict)
    #: 1 = nothing moves until somebody acts; 2 = some processes do not move; 3 = for information.
    severity = models.PositiveSmallIntegerField()
    state = models.CharField(
        max_length=20, choices=IncidentState.choices, default=IncidentState.OPEN
    )
    opened_at = models.DateTimeField()
    #: When its newest alert was raised.
    last_at = models.DateTimeField()
    #: Its unresolved alerts, counted by the sweep; and all it ever had.
    members = models.PositiveIntegerField(default=0)
    total = models.PositiveIntegerField(default=0)
    #: What the members are worth; null = unknown.
    money = models.DecimalField(max_digits=16, decimal_places=2, null=True)
    assignee = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    snooze_until = models.DateTimeField(null=True)
    resolved_at = models.DateTimeField(null=True)
    #: How often it came back after it was resolved.
    reopened = models.PositiveIntegerField(default=0)

    class Meta:
        ordering = ["-last_at", "-id"]
        permissions = [
            ("acknowledge_incident", _("Can take an incident")),
            ("assign_incident", _("Can assign an incident")),
            ("snooze_incident", _("Can snooze an incident")),
            ("resolve_incident", _("Can resolve an incident by hand")),
            ("note_incident", _("Can write notes on an incident")),
            ("hand_over_incident", _("Can see the hand-over sheet and mail it")),
        ]
        constraints = [
            models.UniqueConstraint(
                name="incident_once_per_key",
                fields=["key"],
                condition=Q(resolved_at__isnull=True),
            ),
            models.CheckConstraint(
                name="incident_state_known", condition=Q(state__in=IncidentState.values)
            ),
            models.CheckConstraint(
                name="incident_snoozed_until",
                condition=Q(state=IncidentState.SNOOZED, snooze_until__isnull=False)
                | (~Q(state=IncidentState.SNOOZED) & Q(snooze_until__isnull=True)),
            ),
            models.CheckConstraint(
                name="incident_resolved_since",
                condition=Q(state=IncidentState.RESOLVED, resolved_at__isnull=False)
                | (~Q(state=IncidentState.RESOLVED) & Q(resolved_at__isnull=True)),
            ),
        ]
        indexes = [
            # The desk's list: the most severe first, then the oldest.
            models.Index(
                name="incident_open_idx",
                fields=["severity", "opened_at"],
                condition=Q(resolved_at__isnull=True),
            ),
            # The list: unresolved incidents first.
            models.Index(name="incident_list_idx", fields=["-resolved_at", "-last_at", "-id"]),
            # Incidents that may be reopened.
            models.Index(
                name="incident_resolved_idx",
                fields=["key", "resolved_at"],
                condition=Q(resolved_at__isnull=False),
            ),
            models.Index(
                name="incident_prunable_idx",
                fields=["resolved_at"],
                condition=Q(resolved_at__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return self.key

    @property
    def alerts(self) -> QuerySet[Alert]:
        """Return all that were raised because of it."""
        return Alert.objects.filter(group_id=self.pk)
