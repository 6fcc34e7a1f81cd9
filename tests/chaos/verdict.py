"""What came of a run: judged from what the submitters, the tables and the world outside say."""

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from tests.chaos.accepted import Accepted
from tests.chaos.observer import FINAL

MOST_NAMED = 20


@dataclass(frozen=True)
class Facts:
    """All that the verdict looks at."""

    #: What the submitters were told.
    accepted: Collection[Accepted]
    #: Orders that a door refused.
    refused: Collection[str]
    #: Orders that were asked for and never answered.
    unanswered: int
    #: Order -> its state, and whether an operator was told.
    orders: Mapping[int, tuple[str, bool]]
    #: Effects that happened twice, as the services and the mails say.
    doubled: Collection[str]
    #: Rows that break an invariant, and whether the ledgers were among what was checked.
    violations: Collection[str]
    with_ledgers: bool
    #: Orders whose money, goods or papers in the ledgers are not what their state says.
    unexplained: Collection[str]
    #: Everything was at rest within the time for healing.
    is_healed: bool
    #: Fault -> how often it struck; every fault that was asked for is in it.
    strikes: Mapping[str, int]
    #: Statuses that never came, where none may be missing.
    untold: Collection[str] = ()
    #: What the database finds wrong with its own files.
    damages: Collection[str] = ()
    #: Bounds of a scenario that were not held.
    missed: Collection[str] = ()


@dataclass(frozen=True)
class Verdict:
    """The figures, and what is wrong with them."""

    accepted: int
    lost: int
    duplicate_effects: int
    violations: int
    unexplained: int
    states: dict[str, int]
    strikes: dict[str, int]
    #: Promises that were broken.
    failings: list[str] = field(default_factory=list)
    #: Why the run proves less than was asked of it.
    gaps: list[str] = field(default_factory=list)

    @property
    def exit_code(self) -> int:
        return 1 if self.failings or self.gaps else 0

    def as_json(self) -> dict[str, Any]:
        return {"holds": self.exit_code == 0, **asdict(self)}


def judge(facts: Facts) -> Verdict:
    """Judge a run; ``exit_code`` is 0 only for one that held everything and was put to a test."""
    numbers = sorted({order.number for order in facts.accepted})
    lost = [number for number in numbers if _is_lost(facts.orders.get(number))]
    states: dict[str, int] = {}
    for number in numbers:
        state = facts.orders[number][0] if number in facts.orders else "missing"
        states[state] = states.get(state, 0) + 1
    return Verdict(
        len(numbers),
        len(lost),
        len(facts.doubled),
        len(facts.violations),
        len(facts.unexplained),
        states,
        dict(facts.strikes),
        _failings(facts, lost),
        _gaps(facts),
    )


def _failings(facts: Facts, lost: list[int]) -> list[str]:
    found = []
    if lost:
        named = ", ".join(str(number) for number in lost[:MOST_NAMED])
        found.append(f"{len(lost)} accepted orders are neither final nor an operator's: {named}")
    if len({order.number for order in facts.accepted}) < len(facts.accepted):
        found.append("two keys were answered with one order")
    if not facts.is_healed:
        found.append("not everything came to rest in the time for healing")
    if facts.unanswered:
        found.append(f"{facts.unanswered} orders were never answered, although everything works")
    late = [order.number for order in facts.accepted if order.is_late]
    unprocessed = [number for number in late if _state(facts, number) not in FINAL]
    if unprocessed:
        found.append(f"orders placed after the faults did not end: {unprocessed[:MOST_NAMED]}")
    for what, rows in (
        ("effects that happened twice", facts.doubled),
        ("rows that break an invariant", facts.violations),
        ("sums that no state explains", facts.unexplained),
        ("orders that a door refused", facts.refused),
        ("statuses that never came", facts.untold),
        ("damages to the database's file", facts.damages),
    ):
        if rows:
            found.append(f"{len(rows)} {what}: {'; '.join(list(rows)[:MOST_NAMED])}")
    found += facts.missed
    return found


def _gaps(facts: Facts) -> list[str]:
    found = [f"the fault {name} never struck" for name, n in facts.strikes.items() if n == 0]
    if not facts.accepted:
        found.append("no order was accepted")
    if not facts.with_ledgers:
        found.append("the services' ledgers were not there to be asked")
    return found


def _state(facts: Facts, number: int) -> str:
    return facts.orders.get(number, ("missing", False))[0]


def _is_lost(found: tuple[str, bool] | None) -> bool:
    if found is None:
        return True
    state, is_told = found
    return state not in FINAL and not (state == "error" and is_told)
