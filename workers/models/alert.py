"""Alerts to operators."""

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from workers.models.process import Process
from workers.models.step import Step


class Alert(models.Model):
    """A message to operators: one per cause, until somebody acknowledges it or the cause ends."""

    cause = models.CharField(max_length=200)
    code = models.CharField(max_length=60)
    #: Parameters of its text, which is composed when it is read; null = an earlier version raised
    #: it with a ``message``.
    params = models.JSONField(null=True)
    message = models.TextField(blank=True)
    process = models.ForeignKey(Process, null=True, on_delete=models.CASCADE, related_name="alerts")
    step = models.ForeignKey(Step, null=True, on_delete=models.CASCADE, related_name="alerts")
    raised_at = models.DateTimeField()
    last_raised_at = models.DateTimeField()
    times = models.PositiveIntegerField(default=1)
    #: When it was closed, by a person or with the end of its cause; null = it is open.
    acknowledged_at = models.DateTimeField(null=True)
    acknowledged_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    comment = models.TextField(blank=True)
    #: When its cause was found to have ended; null = it lasts, acknowledged or not.
    resolved_at = models.DateTimeField(null=True)
    #: The group into which the package that tells people has put it; null = news.  The engine only
    #: clears it.
    group_id = models.BigIntegerField(null=True)
    #: The worth of its process, as the application stated it then; null = unknown.
    money = models.DecimalField(max_digits=16, decimal_places=2, null=True)

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
        indexes = [
            # Checked again until the cause has ended.
            models.Index(
                name="alert_unresolved_idx", fields=["id"], condition=Q(resolved_at__isnull=True)
            ),
            models.Index(
                name="alert_news_idx",
                fields=["id"],
                condition=Q(group_id__isnull=True, resolved_at__isnull=True),
            ),
            models.Index(
                name="alert_group_idx",
                fields=["group_id", "id"],
                condition=Q(group_id__isnull=False),
            ),
            models.Index(
                name="alert_member_idx",
                fields=["group_id", "money"],
                condition=Q(group_id__isnull=False, resolved_at__isnull=True),
            ),
            models.Index(
                name="alert_acknowledged_idx",
                fields=["acknowledged_at"],
                condition=Q(acknowledged_at__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        # The admin's log stores this text, so it must not have personal data of the message.
        return f"alert {self.pk}, {self.code}"

    @property
    def has_ended_by_itself(self) -> bool:
        """Say whether its cause ended before anybody acknowledged it."""
        return self.resolved_at is not None and self.resolved_at == self.acknowledged_at
