"""Which alerts share a cause, and the next state of its incident.  Pure."""

import hashlib
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from workers.definitions.alert_kinds import IncidentKind, alert_kind
from workers.desk.states import IncidentState
from workers.desk.texts.alert_texts import ANY
from workers.protocol.faults import FaultRecord
from workers.rules import dead_workers
from workers.rules.masks import UNKNOWN, Mask

#: An incident is one outage: a cause that comes back within this time continues it.
SAME_OUTAGE_WITHIN = timedelta(minutes=10)

_ADDRESS = re.compile(r"[^\s@'\"<>(]+@[^\s@'\">)]+")
#: HTTP statuses, signals, exit codes and limits differ by cause; any other word with a digit
#: belongs to one order.
_CAUSE_NUMBERS = (
    r"\b(?:(?:answered|status|HTTP) [1-5]\d\d|(?:signal|exitcode) -?\d{1,3}"
    r"|\d+ (?:bytes|digits|characters) at most)\b"
)
_WITH_DIGITS = re.compile(rf"({_CAUSE_NUMBERS})|[\w#+-]*\d[\w-]*(?:[.:,]\d[\w-]*)*")
_REPEATED = re.compile(rf"{ANY}(?:[\s,;.:/-]*{ANY})+")


@dataclass(frozen=True, slots=True)
class AlertFacts:
    """An alert, and what its rows say of its process and step."""

    code: str
    cause: str
    #: Parameters of its text; None: an older version raised it, and ``message`` is its text.
    params: Mapping[str, Any] | None
    message: str = ""
    subject: str = ""
    workflow: str = ""
    step: str = ""
    agent: str = ""
    fault: FaultRecord | None = None
    #: Knows the personal data of its process.
    mask: Mask = UNKNOWN


@dataclass(frozen=True, slots=True)
class Cause:
    """What alerts have in common: the key of their incident, and the parameters of its title."""

    key: str
    kind: IncidentKind
    code: str
    severity: int
    params: dict[str, Any] = field(compare=False)

    @property
    def failing_agent(self) -> str:
        """Return the agent whose service has trouble; empty: the orders themselves have."""
        kind = self.params.get("fault")
        return self.params["agent"] if kind and kind not in ("permanent", "refused") else ""


def is_quiet(last_at: datetime, raised_at: datetime) -> bool:
    """Say whether an outage may be over: nothing of it came for a while.

    It is over if its service worked meanwhile; its orders may still wait for somebody.
    """
    return raised_at - last_at > SAME_OUTAGE_WITHIN


def cause_of(alert: AlertFacts) -> Cause:
    """Return the cause of an alert: equal for alerts that one act would mend.

    Failures are told apart by workflow, step, agent, and the fault's kind, code and message,
    without what belongs to one order, personal data included: incidents are told to people who may
    not see it.  Anything else is told apart by what the alert's cause names.
    """
    kind = alert_kind(alert.code)
    if alert.workflow:
        fault = alert.fault or FaultRecord()
        params: dict[str, Any] = {
            "workflow": alert.workflow,
            "step": alert.step,
            "agent": alert.agent,
            "fault": fault.kind,
            "fault_code": fault.code,
            "message": general(alert.mask.without(_failure_text(alert), ANY), fault.code),
        }
        distinct: Mapping[str, Any] = params
    else:
        about = _about(alert)
        params = {"about": about, "message": general(_reason(alert)) or about}
        distinct = _distinct(kind.kind, params)
        if alert.params and _may_be_shown(alert, kind.kind):
            params = {**params, "said": dict(alert.params)}
    return Cause(_key(alert.code, distinct), kind.kind, alert.code, int(kind.severity), params)


def general(message: str, fault_code: str | None = None) -> str:
    """Return a message without the values of one order: numbers, ids, e-mail addresses.

    A dead worker's message also loses its count of attempts: one way to die is one cause.
    """
    if fault_code == dead_workers.CODE:
        message = dead_workers.once(message)
    text = _WITH_DIGITS.sub(lambda match: match[1] or ANY, _ADDRESS.sub(ANY, message))
    return _REPEATED.sub(ANY, text).strip()[:300]


def _failure_text(alert: AlertFacts) -> str:
    return (alert.fault.message if alert.fault is not None else "") or _reason(alert)


def _reason(alert: AlertFacts) -> str:
    """Return an alert's text without the name of its subject, untranslated."""
    params = alert.params
    if params is None:
        return alert.message.removeprefix(alert.subject).lstrip(": ")
    text = params.get("reason") or params.get("text") or params.get("question")
    return str(text or " ".join(map(str, params.get("says", ()))))


def named_after(params: Mapping[str, Any], abouts: Collection[str]) -> dict[str, Any]:
    """Return the parameters of an incident with the names of all its subjects."""
    return {**params, "about": ", ".join(sorted(set(abouts)))}


def _distinct(kind: IncidentKind, params: Mapping[str, str]) -> Mapping[str, str]:
    """Return what tells causes without a process apart; their duration does not.

    All duties share one cause: they are late together if nothing asks for them or performs them.
    """
    if kind == IncidentKind.DUTY:
        return {}
    return params if kind == IncidentKind.OTHER else {"about": params["about"]}


def _may_be_shown(alert: AlertFacts, kind: IncidentKind) -> bool:
    """Say whether receivers of the incident may read the alert's parameters.

    A plain text was written for the admin and may name anybody; a submitter's address may contain
    a secret.
    """
    return kind != IncidentKind.SUBMITTER and "text" not in (alert.params or {})


def _about(alert: AlertFacts) -> str:
    """Return the subject that a cause names after its code: an agent, a duty, an owner."""
    about = alert.cause.partition(":")[2]
    if alert.code == "sink_undeliverable":
        # A mark of the address follows the owner: one owner mends all addresses of theirs.
        return about.rpartition(":")[0]
    return about.removeprefix("agent:")


def _key(code: str, distinct: Mapping[str, str]) -> str:
    text = "\x1f".join(f"{name}={value}" for name, value in sorted(distinct.items()))
    return f"{code[:60]}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"


@dataclass(frozen=True, slots=True)
class IncidentRow:
    """The columns of an unresolved incident that the sweep may change."""

    id: int
    state: str
    members: int
    money: Decimal | None
    snooze_until: datetime | None = None
    resolved_at: datetime | None = None


def refreshed(row: IncidentRow, members: int, money: Decimal | None, now: datetime) -> IncidentRow:
    """Return an incident updated to the members counted just now.

    It is resolved if no member is left, and open again once its snooze is over.
    """
    state, until = row.state, row.snooze_until
    if members == 0:
        return IncidentRow(row.id, IncidentState.RESOLVED, 0, money, None, now)
    if until is not None and until <= now:
        state, until = IncidentState.OPEN, None
    return IncidentRow(row.id, state, members, money, until)
