"""The last errors of unreachable services, from the steps that wait for them."""

from collections.abc import Sequence

from workers.protocol.faults import FaultRecord
from workers.store import personal_data
from workers.store.db import dialect

#: How many waiting steps of an agent to read, the first in turn: these are the probes.
LOOKED_AT = 20
#: Replaces personal values: people who are alerted about an agent may not see them.
HIDDEN = "…"

_FIRST = (
    "SELECT * FROM (SELECT l.step_id FROM workers_live l WHERE l.state = 'pending'"
    f" AND l.agent = %s ORDER BY l.turn LIMIT {LOOKED_AT}) f"
)


def of(agents: Sequence[str]) -> dict[str, str]:
    """Return, by agent, why its service could not be reached last; only for agents with a reason.

    One statement, on the index of claimable steps.
    """
    if not agents:
        return {}
    first = " UNION ALL ".join([_FIRST] * len(agents))
    rows = dialect.fetch(
        f"SELECT s.agent, s.process_id, s.fault FROM ({first}) c"
        " JOIN workers_step s ON s.id = c.step_id WHERE s.fault IS NOT NULL",
        list(agents),
    )
    newest: dict[str, tuple[str, int, FaultRecord]] = {}
    for agent, process_id, document in rows:
        fault = FaultRecord.from_json(dialect.document(document))
        if fault is None or fault.kind != "unavailable":
            continue
        at = str(fault.at or "")
        if agent not in newest or at > newest[agent][0]:
            newest[agent] = (at, process_id, fault)
    masks = personal_data.of_processes(process_id for _at, process_id, _fault in newest.values())
    return {
        agent: masks[process_id].without(fault.message, HIDDEN) or fault.code
        for agent, (_at, process_id, fault) in newest.items()
    }
