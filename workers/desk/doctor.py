"""Routes: whether there is one, and whether its deliveries arrive."""

from collections.abc import Iterable
from datetime import timedelta

from django.db.models import Count

from workers.definitions.sentences import say as _
from workers.definitions.sentences import say_counted as ngettext
from workers.desk.models import Delivery, Route
from workers.desk.states import DeliveryEvent, DeliveryState
from workers.desk.store import deliveries
from workers.ops.doctor.finding import Finding, info, ok, warning
from workers.ops.doctor.registry import probe
from workers.store.db import dialect

#: Deliveries that were given up earlier are history.
LATELY = timedelta(days=1)
#: Time within which a due message should have left.
LATE_SECONDS = 120.0


@probe("routes")
def somebody_is_told() -> Iterable[Finding]:
    """Check that there is an active route."""
    count = Route.objects.filter(is_active=True).count()
    if count:
        text = ngettext(
            "%(n)d route is notified of incidents", "%(n)d routes are notified of incidents", count
        )
        yield ok(text)
        return
    yield info(
        _("no route is notified of incidents"),
        _("Incidents are visible only in the admin."),
        _(
            "Add a route in the admin, or with `manage.py sas routes add`: see "
            '"Be told of incidents" in the documentation.'
        ),
    )


@probe("routes")
def deliveries_arrive() -> Iterable[Finding]:
    """Look for deliveries that were given up, and for due ones that no relay sends."""
    given_up = (
        Delivery.objects.filter(
            state=DeliveryState.FAILED, ended_at__gt=dialect.read_clock() - LATELY
        )
        .exclude(event=DeliveryEvent.TEST)
        .values_list("route__name")
        .annotate(n=Count("pk"))
        .order_by("route__name")
    )
    bad = [
        warning(
            ngettext(
                "%(n)d delivery to route %(route)s was given up within a day",
                "%(n)d deliveries to route %(route)s were given up within a day",
                count,
                route=name,
            ),
            _("Somebody was not notified of an incident."),
            _("See the answers in the admin, fix the route, and resend them."),
        )
        for name, count in given_up
    ]
    seconds = deliveries.seconds_waiting()
    if seconds is not None and seconds > LATE_SECONDS:
        bad.append(
            warning(
                _("a delivery has been due for %(n)d s", n=seconds),
                _("No relay sends it."),
                _("Start a worker that reads the queue sas.reports, and `manage.py sas watch`."),
            )
        )
    yield from bad or [ok(_("every delivery has arrived or is on its way"))]
