"""The results of a run in words."""

from collections.abc import Iterator

from orders import invariants as shop
from sasproject.demo.tally import Tally
from workers.management.wording import counted
from workers.ops import invariants as engine
from workers.states import OPEN_PROCESS_STATES, ProcessState

MOST_VIOLATIONS = 20
#: Fault switch of the sandbox -> its effect on the calls that it struck.
STRUCK = {
    "down": "refused by a service that was down",
    "drop_after_effect_rate": "carried out but its answer lost",
    "duplicate_rate": "delivered twice",
    "error_rate": "answered with an error",
    "fail_every": "refused",
    "garbage_rate": "answered with garbage",
    "hang_every": "left hanging by order number",
    "hang_rate": "left hanging",
    "latency_seconds": "slowed down",
    "lie_rate": "carried out and then denied",
}


def text(tally: Tally) -> str:
    """Return the figures as lines, with the verdict at the end."""
    return "\n".join(_lines(tally))


def _lines(tally: Tally) -> Iterator[str]:
    orders, kills = counted(tally.orders, "order"), counted(tally.kills, "kill")
    yield f"{orders} accepted in a run of {tally.seconds:.0f} s, {kills}"
    for state in ProcessState:
        if state in OPEN_PROCESS_STATES:
            continue
        if number := getattr(tally, state):
            is_error = state == ProcessState.ERROR
            yield f"{number:6} {'in error, with an alert' if is_error else state}"
    yield f"{tally.recovered:6} recovered: they ended although something failed on their way"
    if tally.unended:
        yield f"{tally.unended:6} not ended yet"
    yield f"{tally.lost - tally.unended:6} lost"
    yield f"{tally.duplicate_effects:6} effects that happened twice, by the services' own ledgers"
    strikes = [
        f"{times} {STRUCK.get(switch, switch)}" for switch, times in tally.faults.items() if times
    ]
    yield f"calls that met a fault: {', '.join(strikes) or 'none'}"
    checked = len(engine.INVARIANTS) + len(shop.NAMES)
    yield f"{checked} invariants checked, {len(tally.violations)} rows break one"
    for violation in list(tally.violations)[:MOST_VIOLATIONS]:
        yield f"  {violation.subject}: {violation.wrong} ({violation.says})"
    failings, gaps = tally.failings(), tally.gaps()
    yield f"BROKEN: {'; '.join(failings)}" if failings else "Nothing lost, nothing twice."
    if gaps:
        yield f"Not a proof of much: {'; '.join(gaps)}"
