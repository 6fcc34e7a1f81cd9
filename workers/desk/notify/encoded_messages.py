"""Writes the messages of claimed deliveries, each in its route's language and format."""

import logging
from collections import defaultdict
from collections.abc import Sequence

from django.conf import settings
from django.utils import timezone, translation

from workers.conf import sas
from workers.definitions.alert_kinds import IncidentKind
from workers.desk.models import Delivery, Incident
from workers.desk.notify import incident_formats, incident_message
from workers.desk.notify.incident_message import IncidentFacts, IncidentMessage
from workers.desk.notify.incident_sender import EncodedMessage
from workers.desk.rules.incident_routing import zone_of
from workers.desk.states import DeliveryEvent
from workers.desk.store.deliveries import ClaimedDelivery
from workers.desk.texts import alert_texts
from workers.models import LiveStep
from workers.states import StepState

log = logging.getLogger(__name__)

#: The most waiting steps to count; one more means "or more".
MOST_WAITING = 10_000


def write(deliveries: Sequence[ClaimedDelivery]) -> list[EncodedMessage | None]:
    """Return the message of each delivery, with its incidents as they are now.

    None: this code cannot write it; the error is logged, and the others are not held up.
    """
    events = _events(deliveries)
    messages: list[EncodedMessage | None] = []
    for delivery in deliveries:
        try:
            messages.append(_encoded(delivery, events[delivery.id]))
        except Exception:
            log.exception("incident_unwritable", extra={"delivery": delivery.id})
            messages.append(None)
    return messages


def _events(deliveries: Sequence[ClaimedDelivery]) -> dict[int, list[tuple[str, Incident]]]:
    """Return events with their incidents by delivery, in order."""
    digests = [delivery.id for delivery in deliveries if delivery.event == DeliveryEvent.DIGEST]
    events: dict[int, list[tuple[str, Incident]]] = defaultdict(list)
    if digests:
        gathered = Delivery.objects.filter(digest__in=digests).select_related("incident")
        for row in gathered.order_by("incident__severity", "pk"):
            if row.digest_id is not None and row.incident is not None:
                events[row.digest_id].append((row.event, row.incident))
    ids = [delivery.incident_id for delivery in deliveries if delivery.incident_id is not None]
    incidents = Incident.objects.in_bulk(ids) if ids else {}
    for delivery in deliveries:
        incident = incidents.get(delivery.incident_id or 0)
        if incident is not None:
            events[delivery.id].append((delivery.event, incident))
    return events


def _encoded(delivery: ClaimedDelivery, events: list[tuple[str, Incident]]) -> EncodedMessage:
    language = delivery.language or settings.LANGUAGE_CODE
    with translation.override(language), timezone.override(zone_of(delivery.time_zone)):
        message = IncidentMessage(
            f"msg_{delivery.uid.hex}",
            delivery.event,
            delivery.at,
            tuple(_facts(event, incident) for event, incident in events),
        )
        form = incident_formats.FORMATS.get(delivery.kind)
        return EncodedMessage(
            delivery.kind,
            delivery.address,
            delivery.secret,
            message.id,
            incident_message.headline(message),
            incident_message.text(message),
            incident_formats.encode(form(message, delivery.secret)) if form else b"",
        )


def _facts(event: str, incident: Incident) -> IncidentFacts:
    code, params = incident.code, incident.params
    is_of_agent = incident.kind == IncidentKind.AGENT
    agent = str(params.get("about" if is_of_agent else "agent") or "")
    return IncidentFacts(
        event=event,
        key=incident.key,
        kind=incident.kind,
        title=alert_texts.title(code, params),
        severity=incident.severity,
        state=incident.state,
        agent=agent,
        processes=incident.members if "workflow" in params else None,
        waiting=_waiting(agent) if is_of_agent and not incident.resolved_at else None,
        money=None if incident.money is None else f"{incident.money:.2f}",
        opened_at=incident.opened_at,
        last_at=incident.last_at,
        message=alert_texts.newest_message(code, params),
        remedy=alert_texts.remedy(code, params),
        url=page_of(incident.pk),
    )


def _waiting(agent: str) -> int:
    """Return how many steps wait for an agent, ``MOST_WAITING`` + 1 at most."""
    rows = LiveStep.objects.filter(agent=agent, state=StepState.PENDING)
    return rows[: MOST_WAITING + 1].count()


def page_of(incident_id: int) -> str:
    """Return the URL of an incident's page; empty: the admin's URL is not set."""
    base = sas.admin_url.rstrip("/")
    return f"{base}/desk/incident/{incident_id}/change/" if base else ""
