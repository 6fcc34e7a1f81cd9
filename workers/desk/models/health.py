"""How the installation has fared: figures of minutes and longer spans, and what probes found."""

from django.db import models
from django.db.models import Q, Value
from django.utils.translation import gettext_lazy as _

from workers.desk.states import Span
from workers.states import BreakerState


class Minute(models.Model):
    """What became of an agent's calls in a minute, or in a longer span; rolled up from the journal.

    Of what became of processes there is one row without an agent.  A minute in which nothing
    happened has no row.
    """

    agent = models.CharField(max_length=100, blank=True)
    #: When it begins.
    at = models.DateTimeField()
    span = models.PositiveIntegerField(choices=Span.choices, default=Span.MINUTE)
    #: How many, by what became of them: of calls ``rules.minutes.RESULTS``, of processes ``MOVES``.
    counts = models.JSONField(default=dict)
    #: What else happened, in the words of ``rules.minutes``: to claims; to processes by workflow.
    events = models.JSONField(default=dict, db_default=Value({}, models.JSONField()))
    #: How many in each bucket of ``rules.latency``: from start to reply, and from claim to start.
    calls = models.JSONField(default=dict)
    waits = models.JSONField(default=dict)
    #: Worker processes that ended a call; of a longer span the most in a minute.
    workers = models.PositiveIntegerField(default=0)

    class Meta:
        verbose_name = _("health")
        verbose_name_plural = _("health")
        default_permissions = ("view",)
        constraints = [
            models.UniqueConstraint(name="minute_once", fields=["span", "at", "agent"]),
            models.CheckConstraint(name="minute_span_known", condition=Q(span__in=Span.values)),
        ]

    def __str__(self) -> str:
        return f"{self.agent or '*'} at {self.at:%Y-%m-%d %H:%M %Z}"


class Gauge(models.Model):
    """How an agent stood in a minute, at the last look; in a longer span, at its worst."""

    agent = models.CharField(max_length=100)
    at = models.DateTimeField()
    span = models.PositiveIntegerField(choices=Span.choices, default=Span.MINUTE)
    pending = models.PositiveIntegerField()
    in_flight = models.PositiveIntegerField()
    #: Steps in error of processes that are not over.
    failed = models.PositiveIntegerField()
    window_size = models.PositiveIntegerField()
    #: How long the oldest step that may be claimed has waited for that; null = none does.
    oldest_seconds = models.FloatField(null=True)
    breaker = models.CharField(max_length=20, choices=BreakerState.choices)

    class Meta:
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(name="gauge_once", fields=["span", "at", "agent"]),
            models.CheckConstraint(name="gauge_span_known", condition=Q(span__in=Span.values)),
            models.CheckConstraint(
                name="gauge_breaker_known", condition=Q(breaker__in=BreakerState.values)
            ),
        ]

    def __str__(self) -> str:
        return f"{self.agent} at {self.at:%Y-%m-%d %H:%M %Z}"


class Release(models.Model):
    """Code that ran here, by its name, and since when: a mark among the figures."""

    name = models.CharField(max_length=100, unique=True)
    seen_at = models.DateTimeField()

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return self.name


class ProbeResult(models.Model):
    """What a probe of the doctor found when it looked last."""

    #: Its group and its own name, such as queues.are_read.
    name = models.CharField(max_length=100, unique=True)
    #: The worst of what it found: ok, info, warning or error.
    level = models.CharField(max_length=10)
    #: Each a mapping of level, what, why and remedy.
    findings = models.JSONField(default=list)
    looked_at = models.DateTimeField()
    #: Since when it has had this level.
    since = models.DateTimeField()
    #: How often in a row it has found an error.
    errors = models.PositiveIntegerField(default=0)
    #: How long it took.
    seconds = models.FloatField(default=0)

    class Meta:
        verbose_name = _("probe")
        verbose_name_plural = _("doctor")
        default_permissions = ("view",)
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name
