"""Routes, by which people are told of incidents, and the deliveries to them."""

from uuid import uuid4

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from workers.desk.models.incident import Incident
from workers.desk.states import DeliveryEvent, DeliveryState

DAY_SECONDS = 86_400


class RouteKind(models.TextChoices):
    """The channel by which a route is told."""

    MAIL = "mail", _("Mail")
    WEBHOOK = "webhook", _("Signed webhook")
    SLACK = "slack", _("Slack")
    TEAMS = "teams", _("Microsoft Teams")
    PAGERDUTY = "pagerduty", _("PagerDuty")


def default_time_zone() -> str:
    return str(settings.TIME_ZONE)


class Route(models.Model):
    """A way to tell people of incidents: of which, how, and when not."""

    name = models.CharField(_("name"), max_length=100, unique=True)
    kind = models.CharField(_("kind"), max_length=20, choices=RouteKind.choices)
    #: Mail addresses, separated by commas, or a URL.  A chat's URL is a secret.
    address = models.CharField(_("address"), max_length=500)
    #: Signing key of a webhook, or PagerDuty's integration key.
    secret = models.CharField(_("secret"), max_length=200, blank=True)
    #: Empty = all kinds, all agents.
    kinds = models.JSONField(_("kinds of incidents"), default=list, blank=True)
    agents = models.JSONField(_("agents"), default=list, blank=True)
    #: 1 is the gravest; 3 = every incident.
    least_severity = models.PositiveSmallIntegerField(
        _("least severity"),
        default=3,
        choices=[
            (1, _("Only what stops everything")),
            (2, _("What stops some processes, too")),
            (3, _("Everything")),
        ],
    )
    quiet_from = models.TimeField(_("quiet from"), null=True, blank=True)
    quiet_to = models.TimeField(_("quiet to"), null=True, blank=True)
    #: For quiet hours, and instants in messages.
    time_zone = models.CharField(_("time zone"), max_length=60, default=default_time_zone)
    #: For messages; empty = the installation's.
    language = models.CharField(_("language"), max_length=20, blank=True)
    repeat_seconds = models.PositiveIntegerField(
        _("repeat after seconds"),
        default=0,
        validators=[MaxValueValidator(7 * DAY_SECONDS)],
        help_text=_("Until somebody takes the incident. 0: sent once."),
    )
    digest_seconds = models.PositiveIntegerField(
        _("gather for seconds"),
        default=0,
        validators=[MaxValueValidator(7 * DAY_SECONDS)],
        help_text=_("At most one digest in this many seconds. 0: one message per incident."),
    )
    hourly_limit = models.PositiveIntegerField(
        _("messages an hour"),
        default=20,
        validators=[MinValueValidator(1), MaxValueValidator(1000)],
        help_text=_("Beyond it one digest leaves every ten minutes."),
    )
    is_active = models.BooleanField(_("active"), default=True)
    muted_until = models.DateTimeField(_("muted until"), null=True, blank=True)

    class Meta:
        ordering = ["name"]
        permissions = [
            ("test_route", _("Can send a test to a route")),
            ("mute_route", _("Can mute a route")),
        ]
        constraints = [
            models.CheckConstraint(name="route_kind_known", condition=Q(kind__in=RouteKind.values))
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def masked_address(self) -> str:
        """Return the address without its secrets: only the host of a URL."""
        if self.kind == RouteKind.MAIL:
            return self.address
        scheme, _colon, rest = self.address.partition("://")
        return f"{scheme}://{rest.partition('/')[0]}/…"


class Delivery(models.Model):
    """One notice to one route: that it was decided, and whether it has arrived.

    There is one per route, incident, reopening and event, so that nothing is told twice.  A digest
    is a delivery without an incident, to which the deliveries that it gathers refer.
    """

    #: By which receivers recognize a repetition.
    uid = models.UUIDField(default=uuid4, editable=False, unique=True)
    route = models.ForeignKey(
        Route, on_delete=models.CASCADE, related_name="deliveries", db_index=False
    )
    incident = models.ForeignKey(
        Incident, null=True, on_delete=models.CASCADE, related_name="deliveries"
    )
    event = models.CharField(max_length=20, choices=DeliveryEvent.choices)
    #: Which reopening of the incident it is about, and which repeat it is.
    reopened = models.PositiveIntegerField(default=0)
    number = models.PositiveIntegerField(default=0)
    digest = models.ForeignKey("self", null=True, on_delete=models.CASCADE, related_name="gathered")
    #: When it was decided.
    at = models.DateTimeField()
    state = models.CharField(
        max_length=20, choices=DeliveryState.choices, default=DeliveryState.DUE
    )
    #: Failed tries.
    tries = models.PositiveIntegerField(default=0)
    #: No other relay sends it before: the end of a backoff, or of a relay's claim.
    next_at = models.DateTimeField()
    #: When it arrived, was given up, or went into a digest.
    ended_at = models.DateTimeField(null=True)
    #: Why its last try failed: a code with its parameters; null = it arrived, or was not tried.
    problem = models.JSONField(null=True)
    #: The last answer; null = there was none with a status.
    answer_status = models.PositiveSmallIntegerField(null=True)
    answer = models.CharField(max_length=400, blank=True)

    class Meta:
        ordering = ["-id"]
        verbose_name_plural = _("deliveries")
        permissions = [("resend_delivery", _("Can have a delivery sent again"))]
        constraints = [
            models.UniqueConstraint(
                name="delivery_once",
                fields=["route", "incident", "reopened", "event", "number"],
                condition=Q(incident__isnull=False),
            ),
            models.CheckConstraint(
                name="delivery_state_known", condition=Q(state__in=DeliveryState.values)
            ),
            models.CheckConstraint(
                name="delivery_event_known", condition=Q(event__in=DeliveryEvent.values)
            ),
        ]
        indexes = [
            models.Index(
                name="delivery_due_idx",
                fields=["next_at", "id"],
                condition=Q(state=DeliveryState.DUE),
            ),
            # For what routes were told within the last hour, and their last digests.
            models.Index(name="delivery_at_idx", fields=["at"]),
            models.Index(name="delivery_of_route_idx", fields=["route", "-id"]),
            models.Index(name="delivery_state_idx", fields=["state", "-id"]),
        ]

    def __str__(self) -> str:
        return f"{self.route}: {self.get_event_display()}"

    @property
    def message_id(self) -> str:
        """Return the id by which receivers recognize a repetition."""
        return f"msg_{self.uid.hex}"
