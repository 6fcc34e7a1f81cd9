"""States of the desk's rows, such as incidents, deliveries and jobs; its leases."""

from django.db.models import IntegerChoices, TextChoices
from django.utils.translation import gettext_lazy as _

#: Names of the leases of the desk's duties.
JOBS = "jobs"
INCIDENT_COLLECTION = "incident_collection"
INCIDENT_REFRESH = "incident_refresh"
DELIVERY_PLANNING = "delivery_planning"
#: The duties without which no one is notified.
TELLING = frozenset({INCIDENT_COLLECTION, INCIDENT_REFRESH, DELIVERY_PLANNING})


class IncidentState(TextChoices):
    """The state of an incident, one cause that operators deal with."""

    OPEN = "open", _("open")
    ACKNOWLEDGED = "acknowledged", _("taken")
    SNOOZED = "snoozed", _("snoozed")
    RESOLVED = "resolved", _("resolved")


class DeliveryEvent(TextChoices):
    """What a delivery tells a route of an incident."""

    OPENED = "opened", _("opened")
    REPEAT = "repeat", _("repeated")
    #: For services that keep incidents of their own.
    ACKNOWLEDGED = "acknowledged", _("taken")
    RESOLVED = "resolved", _("resolved")
    DIGEST = "digest", _("digest")
    TEST = "test", _("test")


class DeliveryState(TextChoices):
    """State of a delivery: one notice to one route."""

    DUE = "due", _("due")
    DELIVERED = "delivered", _("delivered")
    FAILED = "failed", _("given up")
    #: Sent as part of a digest, which is a delivery of its own.
    GATHERED = "gathered", _("in a digest")


class JobState(TextChoices):
    """State of a job."""

    #: Its items are being written; none is acted on yet.
    PLANNED = "planned", _("planned")
    RUNNING = "running", _("running")
    PAUSED = "paused", _("paused")
    #: Ended by an operator before every item was worked through.
    STOPPED = "stopped", _("stopped")
    DONE = "done", _("done")


class ItemState(TextChoices):
    """Result of a job for one process."""

    WAITING = "waiting", _("not worked yet")
    LANDED = "landed", _("changed")
    REFUSED = "refused", _("refused")


class Span(IntegerChoices):
    """Seconds that a row of figures covers."""

    EVER = 0, _("all time")
    MINUTE = 60, _("minute")
    TEN_MINUTES = 600, _("ten minutes")
    HOUR = 3600, _("hour")
