"""Whether operators know of a process's open alerts: for pages that say so."""

from django.db.models import Exists, F, OuterRef, Q

from workers.desk.models import Delivery, Incident
from workers.desk.states import DeliveryEvent, DeliveryState
from workers.models import Alert

#: Events that ask somebody to act; the others report an end, or no incident.
_ASKS = (DeliveryEvent.OPENED, DeliveryEvent.REPEAT)


def somebody_knows(process_id: int) -> bool:
    """Say whether a route was told of a process's open alerts, or somebody has taken one.

    False: no message has left or arrived yet, or there is no route; the admin shows the alert
    all the same.
    """
    deliveries = Delivery.objects.filter(
        Q(state=DeliveryState.DELIVERED) | Q(digest__state=DeliveryState.DELIVERED),
        incident=OuterRef("group_id"),
        event__in=_ASKS,
        # Deliveries from before the incident was reopened do not count.
        reopened=F("incident__reopened"),
    )
    return (
        Alert.objects.filter(process=process_id, resolved_at=None)
        .annotate(arrived=Exists(deliveries))
        .filter(
            Q(arrived=True)
            | Q(acknowledged_by__isnull=False)
            | Q(group_id__in=Incident.objects.filter(assignee__isnull=False))
        )
        .exists()
    )
