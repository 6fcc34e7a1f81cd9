"""The JSON of a message about incidents for webhooks, chats and PagerDuty: pure."""

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from django.utils.text import Truncator
from django.utils.translation import gettext as _

from workers.desk.notify.incident_message import (
    MOST_NAMED,
    IncidentFacts,
    IncidentMessage,
    headline,
    headline_of,
    lines_of,
    more,
    text,
)
from workers.desk.states import DeliveryEvent as Event

#: PagerDuty's limits.
LONGEST_SUMMARY, LONGEST_KEY = 1024, 255
#: Slack's limit of one block.
LONGEST_BLOCK = 3000
_ACTIONS = {Event.ACKNOWLEDGED: "acknowledge", Event.RESOLVED: "resolve"}
#: Characters that start a link, a mention or an emphasis in a chat's markup.
_MARKUP = re.compile(r"([\\`*_\[\]()#<>~|!@])")


def encode(document: Mapping[str, Any]) -> bytes:
    return json.dumps(document, ensure_ascii=False, allow_nan=False).encode()


def webhook(message: IncidentMessage, secret: str) -> dict[str, Any]:
    """Return the payload that Standard Webhooks recommends: type, timestamp, data."""
    incident = message.incident
    data: dict[str, Any] = {}
    if incident is not None:
        data = _facts(incident)
    elif message.event == Event.DIGEST:
        incidents = [{"event": facts.event, **_facts(facts)} for facts in message.incidents]
        data = {"incidents": incidents}
    return {"type": f"incident.{message.event}", "timestamp": _text(message.at), "data": data}


def slack(message: IncidentMessage, secret: str) -> dict[str, Any]:
    """Return the text for notifications, and a block for each incident."""
    blocks = [
        _slack_block(
            f"*{_slack_text(headline_of(facts))}*",
            *map(_slack_text, lines_of(facts)),
            *([f"<{facts.url}|{_slack_text(_('Open'))}>"] if facts.url else []),
        )
        for facts in message.incidents[:MOST_NAMED]
    ]
    blocks += [_slack_block(_slack_text(line)) for line in more(message)]
    return {
        "text": _slack_text(headline(message)),
        "blocks": blocks or [_slack_block(_slack_text(text(message)))],
    }


def teams(message: IncidentMessage, secret: str) -> dict[str, Any]:
    """Return an Adaptive Card, as Teams Workflows accept it."""
    body: list[dict[str, Any]] = [_teams_block(headline(message), weight="Bolder", size="Medium")]
    if message.event == Event.TEST:
        body.append(_teams_block(text(message)))
    for facts in message.incidents[:MOST_NAMED]:
        if message.incident is None:
            body.append(_teams_block(headline_of(facts), weight="Bolder"))
        body.append(_teams_block("\n\n".join(lines_of(facts))))
    body += [_teams_block(line) for line in more(message)]
    card = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": body,
    }
    incident = message.incident
    if incident is not None and incident.url:
        card["actions"] = [{"type": "Action.OpenUrl", "title": _("Open"), "url": incident.url}]
    content_type = "application/vnd.microsoft.card.adaptive"
    return {
        "type": "message",
        "attachments": [{"contentType": content_type, "contentUrl": None, "content": card}],
    }


def pagerduty(message: IncidentMessage, secret: str) -> dict[str, Any]:
    """Return an event of PagerDuty's Events API v2; ``secret`` is the integration's key.

    An incident keeps its key there, so that repeats, acknowledgements and resolutions find it; a
    digest or a test has a key of its own.
    """
    incident = message.incident
    event: dict[str, Any] = {
        "routing_key": secret,
        "event_action": _ACTIONS.get(Event(message.event), "trigger"),
        "dedup_key": dedup_key(incident.key) if incident else message.id,
    }
    if event["event_action"] != "trigger":
        return event
    names = (facts.severity_name for facts in message.incidents)
    event["payload"] = {
        "summary": Truncator(headline(message)).chars(LONGEST_SUMMARY),
        "source": incident.agent or incident.kind if incident else "incidents",
        "severity": min(names, key=_RANK.index, default="info"),
        "timestamp": _text(message.at),
        "class": incident.kind if incident else message.event,
        "custom_details": {"text": text(message)},
    }
    if incident and incident.url:
        event["links"] = [{"href": incident.url, "text": _("Open")}]
    return event


_RANK = ("critical", "error", "warning", "info")
#: Makes the body for one kind of route from a message and the route's secret.
Format = Callable[[IncidentMessage, str], dict[str, Any]]
FORMATS: dict[str, Format] = {
    "webhook": webhook,
    "slack": slack,
    "teams": teams,
    "pagerduty": pagerduty,
}


def dedup_key(key: str) -> str:
    """Return an incident's key, hashed if PagerDuty would not accept its length."""
    if len(key.encode()) <= LONGEST_KEY:
        return key
    return hashlib.sha256(key.encode()).hexdigest()


def _facts(incident: IncidentFacts) -> dict[str, Any]:
    return {
        "key": incident.key,
        "kind": incident.kind,
        "title": incident.title,
        "message": incident.message or None,
        "severity": incident.severity_name,
        "state": incident.state,
        "agent": incident.agent or None,
        "processes": incident.processes,
        "waiting": incident.waiting,
        "money": incident.money,
        "since": _text(incident.opened_at),
        "last": _text(incident.last_at),
        "remedy": incident.remedy or None,
        "url": incident.url or None,
    }


def _text(at: datetime) -> str:
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _slack_text(plain: str) -> str:
    """Return a text in which Slack finds no link and no mention."""
    return plain.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _slack_block(*lines: str) -> dict[str, Any]:
    # Verbatim, or Slack turns text into links and names into mentions.
    text = {"type": "mrkdwn", "text": "\n".join(lines)[:LONGEST_BLOCK], "verbatim": True}
    return {"type": "section", "text": text}


def _teams_block(plain: str, **style: str) -> dict[str, Any]:
    escaped = _MARKUP.sub(r"\\\1", plain)
    return {"type": "TextBlock", "text": escaped, "wrap": True, **style}
