"""Where the desk's own rows stand: deliveries, jobs with their items, and spans of figures."""

from django.db.models import IntegerChoices, TextChoices
from django.utils.translation import gettext_lazy as _


class DeliveryEvent(TextChoices):
    """What a route is told of an incident."""

    OPENED = "opened", _("opened")
    REPEAT = "repeat", _("repeated")
    #: For services that keep incidents of their own.
    ACKNOWLEDGED = "acknowledged", _("taken")
    RESOLVED = "resolved", _("resolved")
    DIGEST = "digest", _("digest")
    TEST = "test", _("test")


class DeliveryState(TextChoices):
    """Where a delivery, one thing that a route is told, stands."""

    DUE = "due", _("due")
    DELIVERED = "delivered", _("delivered")
    FAILED = "failed", _("given up")
    #: Told by a digest, which is a delivery of its own.
    GATHERED = "gathered", _("in a digest")


class JobState(TextChoices):
    """Where a job stands."""

    #: Its set is being written: nothing is acted on yet.
    PLANNED = "planned", _("planned")
    RUNNING = "running", _("running")
    PAUSED = "paused", _("paused")
    #: Ended by an operator before every item was worked through.
    STOPPED = "stopped", _("stopped")
    DONE = "done", _("done")


class ItemState(TextChoices):
    """What a job has done to one process."""

    WAITING = "waiting", _("not worked yet")
    LANDED = "landed", _("changed")
    REFUSED = "refused", _("refused")


class Span(IntegerChoices):
    """How many seconds a row of figures stands for."""

    EVER = 0, _("all time")
    MINUTE = 60, _("minute")
    TEN_MINUTES = 600, _("ten minutes")
    HOUR = 3600, _("hour")
