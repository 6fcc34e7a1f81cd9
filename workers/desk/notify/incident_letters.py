"""Writing what routes are told: claimed deliveries, put into the words and the form of each."""

import logging
from collections import defaultdict
from collections.abc import Sequence

from django.conf import settings
from django.utils import timezone, translation

from workers.conf import sas
from workers.definitions.alert_kinds import IncidentKind, alert_kind
from workers.desk.models import Delivery
from workers.desk.notify import incident_formats, incident_message
from workers.desk.notify.incident_message import IncidentFacts, IncidentMessage
from workers.desk.notify.incident_sender import IncidentLetter
from workers.desk.rules.incident_routing import zone_of
from workers.desk.states import DeliveryEvent
from workers.desk.store.deliveries import ClaimedDelivery
from workers.models import Incident
from workers.store.flow import waiting_steps

log = logging.getLogger(__name__)


def write(claimed: Sequence[ClaimedDelivery]) -> list[IncidentLetter | None]:
    """Return the message of each delivery, with its incidents as they are now.

    None: this code cannot write it; what is wrong is logged, and the others are not held up.
    """
    happened = _happened(claimed)
    letters: list[IncidentLetter | None] = []
    for delivery in claimed:
        try:
            letters.append(_letter(delivery, happened[delivery.id]))
        except Exception:
            log.exception("incident_unwritable", extra={"delivery": delivery.id})
            letters.append(None)
    return letters


def _happened(claimed: Sequence[ClaimedDelivery]) -> dict[int, list[tuple[str, Incident]]]:
    """Return by delivery what happened to which incidents, in order."""
    digests = [one.id for one in claimed if one.event == DeliveryEvent.DIGEST]
    happened: dict[int, list[tuple[str, Incident]]] = defaultdict(list)
    if digests:
        gathered = Delivery.objects.filter(digest__in=digests).select_related("incident")
        for row in gathered.order_by("incident__severity", "pk"):
            if row.digest_id is not None and row.incident is not None:
                happened[row.digest_id].append((row.event, row.incident))
    ids = [one.incident_id for one in claimed if one.incident_id is not None]
    incidents = Incident.objects.in_bulk(ids) if ids else {}
    for delivery in claimed:
        incident = incidents.get(delivery.incident_id or 0)
        if incident is not None:
            happened[delivery.id].append((delivery.event, incident))
    return happened


def _letter(delivery: ClaimedDelivery, happened: list[tuple[str, Incident]]) -> IncidentLetter:
    language = delivery.language or settings.LANGUAGE_CODE
    with translation.override(language), timezone.override(zone_of(delivery.time_zone)):
        message = IncidentMessage(
            f"msg_{delivery.uid.hex}",
            delivery.event,
            delivery.at,
            tuple(_facts(event, incident) for event, incident in happened),
        )
        form = incident_formats.FORMATS.get(delivery.kind)
        return IncidentLetter(
            delivery.kind,
            delivery.address,
            delivery.secret,
            message.id,
            incident_message.headline(message),
            incident_message.text(message),
            incident_formats.encode(form(message, delivery.secret)) if form else b"",
        )


def _facts(event: str, incident: Incident) -> IncidentFacts:
    kind, params = alert_kind(incident.code), incident.params
    is_of_agent = incident.kind == IncidentKind.AGENT
    agent = str(params.get("about" if is_of_agent else "agent") or "")
    return IncidentFacts(
        event=event,
        key=incident.key,
        kind=incident.kind,
        title=kind.title_with(params),
        severity=incident.severity,
        state=incident.state,
        agent=agent,
        processes=incident.members if "workflow" in params else None,
        waiting=waiting_steps.count(agent) if is_of_agent and not incident.resolved_at else None,
        money=None if incident.money is None else f"{incident.money:.2f}",
        opened_at=incident.opened_at,
        last_at=incident.last_at,
        known=kind.known_with(params),
        remedy=kind.remedy_with(params),
        url=page_of(incident.pk),
    )


def page_of(incident_id: int) -> str:
    """Return where an incident's page is; empty: nobody has said where the admin is."""
    base = sas.admin_url.rstrip("/")
    return f"{base}/workers/incident/{incident_id}/change/" if base else ""
