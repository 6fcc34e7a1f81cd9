"""What came of a run: counted from the submitter's list, the store and the ledgers."""

import json
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass

from orders.invariants import EFFECTS, Ledgers
from workers.operate.invariants import Violation
from workers.states import FINAL_PROCESS_STATES, OPEN_PROCESS_STATES


@dataclass(frozen=True, slots=True)
class Tally:
    """The figures at the end of a demo."""

    orders: int
    processed: int
    compensated: int
    cancelled: int
    error: int
    #: Submissions counted by the submitter that are neither final nor alerted.
    lost: int
    #: Those of them that only needed more time: still moving forward, or being undone.
    unended: int
    #: Effects per service, operation and order beyond those undone.
    duplicate_effects: int
    #: Final after at least one failure, loss or kill.
    recovered: int
    kills: int
    #: Fault switch -> how often it struck, as the sandbox counted.
    faults: Mapping[str, int]
    seconds: float
    violations: Collection[Violation] = ()

    def failings(self) -> list[str]:
        """Return which promises were broken."""
        found = []
        if missing := self.lost - self.unended:
            found.append(f"{missing} orders were lost")
        if self.unended:
            found.append(f"{self.unended} orders had not ended")
        if self.duplicate_effects:
            found.append(f"{self.duplicate_effects} effects happened twice")
        if self.violations:
            found.append(f"{len(self.violations)} rows break an invariant")
        return found

    def gaps(self) -> list[str]:
        """Return why this run does not show what it could have shown."""
        found = []
        if not self.kills:
            found.append("nothing was killed")
        if not self.recovered:
            found.append("no order had to recover")
        return found

    def as_json(self) -> str:
        """Return the line that programs read."""
        fields = asdict(self)
        del fields["violations"], fields["unended"]
        return json.dumps({**fields, "seconds": round(self.seconds, 1)})


def count(
    accepted: Collection[int],
    states: Mapping[int, str],
    *,
    alerted: Collection[int],
    troubled: Collection[int],
    ledgers: Ledgers,
    faults_before: Mapping[str, int],
    kills: int,
    seconds: float,
    violations: Collection[Violation],
) -> Tally:
    """Count a run of the ``accepted`` orders, whose ``states`` the store has told."""
    ended = {number: states[number] for number in accepted if number in states}
    faults = struck(ledgers)
    return Tally(
        orders=len(accepted),
        processed=_in("processed", ended),
        compensated=_in("compensated", ended),
        cancelled=_in("cancelled", ended),
        error=_in("error", ended),
        lost=sum(_is_lost(number, states, alerted) for number in accepted),
        unended=sum(state in OPEN_PROCESS_STATES for state in ended.values()),
        duplicate_effects=duplicate_effects(ledgers, accepted),
        recovered=sum(
            state in FINAL_PROCESS_STATES and number in troubled for number, state in ended.items()
        ),
        kills=kills,
        faults={switch: times - faults_before.get(switch, 0) for switch, times in faults.items()},
        seconds=seconds,
        violations=violations,
    )


def duplicate_effects(ledgers: Ledgers, numbers: Collection[int]) -> int:
    """Count the effects of these orders beyond the one that each service may have."""
    ours = frozenset(numbers)
    return sum(
        # One that stands is right; below none means undone more often than done.
        standing - 1 if standing > 1 else max(0, -standing)
        for service in EFFECTS
        for order, standing in ledgers.standing(service).items()
        if order in ours
    )


def struck(ledgers: Ledgers) -> dict[str, int]:
    """Return how often each fault switch struck, all services together."""
    switches = sorted({switch for counts in ledgers.faults.values() for switch in counts})
    return {
        switch: sum(counts.get(switch, 0) for counts in ledgers.faults.values())
        for switch in switches
    }


def _in(state: str, states: Mapping[int, str]) -> int:
    return sum(found == state for found in states.values())


def _is_lost(number: int, states: Mapping[int, str], alerted: Collection[int]) -> bool:
    state = states.get(number)
    if state is None or state in OPEN_PROCESS_STATES:
        return True
    return state not in FINAL_PROCESS_STATES and number not in alerted
