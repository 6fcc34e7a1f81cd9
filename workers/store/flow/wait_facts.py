"""Reading what every explanation of a wait needs, in one statement for a whole page of rows."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from workers.conf import sas
from workers.definitions import registry
from workers.models import Process
from workers.rules.breaker import Breaker
from workers.rules.rate_limit import Bucket
from workers.rules.wait_reasons import AgentFlow, Duty, Facts, Note
from workers.store import leases
from workers.store.db import dialect
from workers.store.flow import flow_control


@dataclass(frozen=True, slots=True)
class Situation:
    """What holds for every process at one instant of the database's clock."""

    now: datetime
    facts: Facts


def read(processes: Collection[Process] = (), now: datetime | None = None) -> Situation:
    """Read what holds just now, and who paused those of ``processes`` that are paused."""
    moment, params = dialect.clock(now)
    flows = dialect.list_of(
        *("f.agent", 'f."window"', "f.unavailable_streak", "f.opened_at", "f.open_until"),
        *("f.forced", "f.rate_per_second", "f.tokens", "f.refilled_at", flow_control.unstarted()),
        flow_control.IN_FLIGHT,
    )
    holds = dialect.list_of("h.kind", "h.name", "h.began_by", "h.reason")
    duties = dialect.list_of("d.name", "d.performed_at")
    unknown = dialect.list_of("u.what")
    row = dialect.fetch(
        f"SELECT {moment}, (SELECT {flows} FROM workers_flow f),"
        f" (SELECT {holds} FROM workers_hold h WHERE h.ended_at IS NULL),"
        f" (SELECT {duties} FROM workers_lease d WHERE d.name IN (%s, %s)),"
        f" (SELECT {unknown} FROM (SELECT DISTINCT CASE WHEN a.process_id IS NULL THEN a.cause"
        " ELSE 'unknown_definition:workflow:' || p.workflow || ':' || p.version END AS what"
        " FROM workers_alert a LEFT JOIN workers_process p ON p.id = a.process_id"
        " WHERE a.code = 'unknown_definition' AND a.resolved_at IS NULL) u)",
        [*params, leases.POLL, leases.SWEEP],
    )[0]
    at = dialect.instant(row[0])
    assert at is not None
    performed = {name: dialect.instant(when) for name, when in dialect.document(row[3]) or ()}
    return Situation(
        at,
        Facts(
            holds={(k, name): Note(by, why) for k, name, by, why in dialect.document(row[2]) or ()},
            flows={line[0]: _flow(line) for line in dialect.document(row[1]) or ()},
            poll=Duty(sas.poll_seconds, performed.get(leases.POLL)),
            sweep=Duty(sas.sweep_seconds, performed.get(leases.SWEEP)),
            unknown={what.partition(":")[2] for (what,) in dialect.document(row[4]) or ()},
            agents={agent.name for agent in registry.agents()},
            pauses=_pauses([one.pk for one in processes if one.paused_at is not None]),
        ),
    )


def _flow(line: list[Any]) -> AgentFlow:
    _agent, window, streak, opened_at, open_until, forced, *rated, in_flight = line
    rate, tokens, refilled_at, unstarted = rated
    breaker = Breaker(streak, dialect.instant(opened_at), dialect.instant(open_until), forced)
    bucket = None if rate is None else Bucket(rate, tokens, dialect.instant(refilled_at), unstarted)
    return AgentFlow(window, in_flight, breaker, bucket)


def _pauses(ids: list[int]) -> dict[int, Note]:
    """Return who paused each of some processes last, and why; nothing is asked about none."""
    if not ids:
        return {}
    found = dialect.fetch(
        "SELECT t.process_id, t.actor, t.detail FROM "
        + dialect.of_each("workers_journal", "process_id")
        + " WHERE t.event = 'paused' ORDER BY t.id",
        [dialect.id_list(ids)],
    )
    return {
        process_id: Note(actor, (dialect.document(detail) or {}).get("reason", ""))
        for process_id, actor, detail in found
    }
