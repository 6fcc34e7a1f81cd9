"""What the system does next about an incident, in a sentence.  Pure."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _

from workers.definitions.alert_kinds import IncidentKind, alert_kind
from workers.desk.texts import alert_texts
from workers.desk.texts.wait_reasons import next_probe
from workers.ops.wait_facts import AgentFlow


def next_act(
    code: str, params: Mapping[str, Any], flows: Mapping[str, AgentFlow] | None, now: datetime
) -> str:
    """Return what the system does next about the cause of alerts of a code, and when.

    ``flows`` is the flow of each agent; None: it was not read.
    """
    kind = alert_kind(code)
    agent = params.get("agent") or (
        params.get("about", "") if kind.kind == IncidentKind.AGENT else ""
    )
    flow = (flows or {}).get(agent)
    probe = next_probe(flow, now) if flow is not None else ""
    if code == "breaker_open" and probe:
        return probe
    act = alert_texts.goes_on(code, params) or _("nothing until you act")
    if not probe:
        return act
    return _("%(act)s; the breaker of agent %(agent)s is open: %(probe)s") % {
        "act": act,
        "agent": agent,
        "probe": probe,
    }
