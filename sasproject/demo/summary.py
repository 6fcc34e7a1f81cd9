"""What came of a run, for people."""

from collections.abc import Iterator

from orders import invariants as shop
from sasproject.demo.tally import Tally
from workers import invariants as engine

MOST_VIOLATIONS = 20


def text(tally: Tally) -> str:
    """Return the figures as lines, with what they prove at the end."""
    return "\n".join(_lines(tally))


def _lines(tally: Tally) -> Iterator[str]:
    yield f"{tally.orders} orders accepted in a run of {tally.seconds:.0f} s, {tally.kills} kills"
    for state in ("processed", "compensated", "cancelled", "error"):
        if number := getattr(tally, state):
            yield f"{number:6} {'in error, an operator was told' if state == 'error' else state}"
    yield f"{tally.recovered:6} recovered: they ended although something failed on their way"
    yield f"{tally.lost:6} lost"
    yield f"{tally.duplicate_effects:6} effects that happened twice, by the services' own ledgers"
    struck = [f"{switch} {times}" for switch, times in tally.faults.items() if times]
    yield f"faults that struck: {', '.join(struck) or 'none'}"
    checked = len(engine.INVARIANTS) + len(shop.NAMES)
    yield f"{checked} invariants checked, {len(tally.violations)} rows break one"
    for violation in list(tally.violations)[:MOST_VIOLATIONS]:
        yield f"  {violation.subject}: {violation.wrong} ({violation.says})"
    failings, gaps = tally.failings(), tally.gaps()
    yield f"BROKEN: {'; '.join(failings)}" if failings else "Nothing lost, nothing twice."
    if gaps:
        yield f"Not a proof of much: {'; '.join(gaps)}"
