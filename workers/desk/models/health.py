"""The installation's health: figures of minutes and longer spans, and results of probes."""

from django.db import models
from django.db.models import Q, Value
from django.utils.translation import gettext_lazy as _

from workers.desk.states import Span
from workers.states import BreakerState


class Minute(models.Model):
    """Figures of an agent's calls in a minute, or in a longer span; rolled up from the journal.

    Figures of processes have a row without an agent.  A minute in which nothing happened has no
    row.
    """

    agent = models.CharField(max_length=100, blank=True)
    #: Beginning of the span.
    at = models.DateTimeField()
    span = models.PositiveIntegerField(choices=Span.choices, default=Span.MINUTE)
    #: Calls by result (``rules.minutes.RESULTS``), or processes by move (``MOVES``).
    counts = models.JSONField(default=dict)
    #: Other events, as named in ``rules.minutes``: of claims, or of processes by workflow.
    events = models.JSONField(default=dict, db_default=Value({}, models.JSONField()))
    #: Durations by bucket of ``rules.latency``: from start to reply, and from claim to start.
    calls = models.JSONField(default=dict)
    waits = models.JSONField(default=dict)
    #: Worker processes that ended a call; in a longer span, the most in a minute.
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
    """An agent's level: the last sample in a minute, or the worst in a longer span."""

    agent = models.CharField(max_length=100)
    at = models.DateTimeField()
    span = models.PositiveIntegerField(choices=Span.choices, default=Span.MINUTE)
    pending = models.PositiveIntegerField()
    in_flight = models.PositiveIntegerField()
    #: Steps in error of processes that are not over.
    failed = models.PositiveIntegerField()
    window_size = models.PositiveIntegerField()
    #: How long the oldest step that may be claimed has waited; null = there is none.
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
    """Code that ran here, by name, and since when: a mark among the figures."""

    name = models.CharField(max_length=100, unique=True)
    seen_at = models.DateTimeField()

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return self.name


class ProbeResult(models.Model):
    """The last result of one of the doctor's probes."""

    #: Its group and its own name, such as queues.are_read.
    name = models.CharField(max_length=100, unique=True)
    #: The worst level of its findings: ok, info, warning or error.
    level = models.CharField(max_length=10)
    #: Each a mapping of level, what, why and remedy.
    findings = models.JSONField(default=list)
    looked_at = models.DateTimeField()
    #: When it first had this level without a break.
    since = models.DateTimeField()
    #: Runs in a row that found an error.
    errors = models.PositiveIntegerField(default=0)
    #: How long its last run took.
    seconds = models.FloatField(default=0)

    class Meta:
        verbose_name = _("probe")
        verbose_name_plural = _("doctor")
        default_permissions = ("view",)
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name
