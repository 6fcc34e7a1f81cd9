"""Whether anybody knows of what holds a process up: for pages that say so."""

from django.db.models import Exists, OuterRef, Q

from workers.desk.models import Delivery
from workers.desk.states import DeliveryEvent, DeliveryState
from workers.models import Alert

#: What asks somebody to act; the rest tells of an end, or of no incident.
_ASKS = (DeliveryEvent.OPENED, DeliveryEvent.REPEAT)


def somebody_knows(process_id: int) -> bool:
    """Say whether a route has told people of a process's open alerts, or somebody has taken one.

    False: nothing has left yet, nothing has arrived, or there is no route; whoever opens the
    admin finds the alert all the same.
    """
    arrived = Delivery.objects.filter(
        Q(state=DeliveryState.DELIVERED) | Q(digest__state=DeliveryState.DELIVERED),
        incident=OuterRef("incident"),
        event__in=_ASKS,
        # What was told of the incident before it came back is of another time.
        reopened=OuterRef("incident__reopened"),
    )
    return (
        Alert.objects.filter(process=process_id, resolved_at=None)
        .annotate(told=Exists(arrived))
        .filter(
            Q(told=True) | Q(acknowledged_by__isnull=False) | Q(incident__assignee__isnull=False)
        )
        .exists()
    )
