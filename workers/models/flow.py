"""Limits of claims: windows, rates and breakers of agents, and operators' holds."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _


class Flow(models.Model):
    """What one agent may have in flight, and its breaker.  Locked while the Scheduler counts.

    The breaker is closed while ``open_until`` is null, open until that instant, and then
    half open: one claim at a time finds out whether the service is back.
    """

    agent = models.CharField(max_length=100, primary_key=True)
    window = models.PositiveIntegerField()
    #: Answers in a row with the service unavailable.
    unavailable_streak = models.PositiveIntegerField(default=0)
    opened_at = models.DateTimeField(null=True)
    open_until = models.DateTimeField(null=True)
    #: Forced open or closed by an operator; null = the breaker decides.
    forced = models.CharField(max_length=10, null=True)  # noqa: DJ001 (null = not forced)
    #: Calls a second at most; null = no limit.
    rate_per_second = models.FloatField(null=True)
    #: Tokens left of the rate, and when they were last counted.
    tokens = models.FloatField(default=0, db_default=0)
    refilled_at = models.DateTimeField(null=True)
    #: The most outstanding answers of steps that wait for a callback; null = no limit.
    deferred_window = models.PositiveIntegerField(null=True)

    class Meta:
        verbose_name_plural = "flow"
        permissions = [("operate_flow", _("Can set windows, rates and breakers"))]
        constraints = [
            models.CheckConstraint(
                name="flow_breaker_open_since_and_until",
                condition=Q(opened_at__isnull=True, open_until__isnull=True)
                | Q(opened_at__isnull=False, open_until__isnull=False),
            ),
            models.CheckConstraint(
                name="flow_forced_known",
                condition=Q(forced__isnull=True) | Q(forced__in=["open", "closed"]),
            ),
            models.CheckConstraint(
                name="flow_rate_above_zero",
                condition=Q(rate_per_second__isnull=True) | Q(rate_per_second__gt=0),
            ),
        ]

    def __str__(self) -> str:
        return self.agent


class LimitedKey(models.Model):
    """What one key of an agent has spent of its rate, and what operators set for it.

    There is none for a key at rest.  Written under its agent's flow row.
    """

    key = models.CharField(max_length=400, primary_key=True)
    agent = models.CharField(max_length=100)
    #: Set by an operator; null = as the code says.  A window of 0 holds the key.
    window = models.PositiveIntegerField(null=True)
    rate_per_second = models.FloatField(null=True)
    #: When the next call may begin, and when nothing is spent any more; null = now.
    next_at = models.DateTimeField(null=True)
    full_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                name="limitedkey_rate_above_zero",
                condition=Q(rate_per_second__isnull=True) | Q(rate_per_second__gt=0),
            ),
        ]
        indexes = [
            # Those whose next token somebody waits for, and those that are to go.
            models.Index(name="limitedkey_next_idx", fields=["agent", "next_at"]),
            models.Index(
                name="limitedkey_full_idx",
                fields=["full_at"],
                condition=Q(window__isnull=True, rate_per_second__isnull=True),
            ),
        ]

    def __str__(self) -> str:
        return self.agent


class Hold(models.Model):
    """An operator's hold: nothing of a kind is claimed until it is lifted.

    ``kind`` is everything, agent or step; ``name`` is the agent's or the step's.
    """

    kind = models.CharField(max_length=20)
    name = models.CharField(max_length=100, blank=True)
    reason = models.TextField(blank=True)
    began_at = models.DateTimeField()
    began_by = models.CharField(max_length=200)
    ended_at = models.DateTimeField(null=True)
    ended_by = models.CharField(max_length=200, blank=True)

    class Meta:
        ordering = ["-began_at"]
        permissions = [("operate_hold", _("Can pause agents, steps and everything"))]
        constraints = [
            models.UniqueConstraint(
                name="hold_once", fields=["kind", "name"], condition=Q(ended_at__isnull=True)
            ),
            models.CheckConstraint(
                name="hold_kind_known", condition=Q(kind__in=["everything", "agent", "step"])
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.name}".strip()
