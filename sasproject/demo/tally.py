"""The results of a run, counted from the submitter's list, the store and the ledgers."""

import json
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass

from orders.invariants import EFFECTS, Ledgers
from workers.ops.invariants import Violation
from workers.states import FINAL_PROCESS_STATES, OPEN_PROCESS_STATES


@dataclass(frozen=True, slots=True)
class Tally:
    """The figures at the end of a demo."""

    orders: int
    processed: int
    compensated: int
    cancelled: int
    error: int
    #: Accepted orders that are neither final nor alerted.
    lost: int
    #: Lost orders that only need more time: still moving forward, or being undone.
    unended: int
    #: Effects beyond one per service and order, undone effects left out.
    duplicate_effects: int
    #: Orders that are final after at least one failure, loss or kill.
    recovered: int
    kills: int
    #: Fault switch -> how often it struck, by the sandbox's counts.
    faults: Mapping[str, int]
    seconds: float
    violations: Collection[Violation] = ()

    def failings(self) -> list[str]:
        """Return the broken promises."""
        promises = []
        if missing := self.lost - self.unended:
            promises.append(f"{missing} orders were lost")
        if self.unended:
            promises.append(f"{self.unended} orders had not ended")
        if self.duplicate_effects:
            promises.append(f"{self.duplicate_effects} effects happened twice")
        if self.violations:
            promises.append(f"{len(self.violations)} rows break an invariant")
        return promises

    def gaps(self) -> list[str]:
        """Return why this run proves little."""
        reasons = []
        if not self.kills:
            reasons.append("nothing was killed")
        if not self.recovered:
            reasons.append("no order had to recover")
        return reasons

    def as_json(self) -> str:
        """Return the line of JSON for programs."""
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
    """Count a run of the ``accepted`` orders; ``states`` are those in the store, by number."""
    accepted_states = {number: states[number] for number in accepted if number in states}
    faults = strike_counts(ledgers)
    return Tally(
        orders=len(accepted),
        processed=_in("processed", accepted_states),
        compensated=_in("compensated", accepted_states),
        cancelled=_in("cancelled", accepted_states),
        error=_in("error", accepted_states),
        lost=sum(_is_lost(number, states, alerted) for number in accepted),
        unended=sum(state in OPEN_PROCESS_STATES for state in accepted_states.values()),
        duplicate_effects=duplicate_effects(ledgers, accepted),
        recovered=sum(
            state in FINAL_PROCESS_STATES and number in troubled
            for number, state in accepted_states.items()
        ),
        kills=kills,
        faults={switch: times - faults_before.get(switch, 0) for switch, times in faults.items()},
        seconds=seconds,
        violations=violations,
    )


def duplicate_effects(ledgers: Ledgers, numbers: Collection[int]) -> int:
    """Count the effects of these orders beyond the one that is allowed per service."""
    ours = frozenset(numbers)
    return sum(
        # One standing effect is right; a negative number was undone more often than done.
        standing - 1 if standing > 1 else max(0, -standing)
        for service in EFFECTS
        for order, standing in ledgers.standing(service).items()
        if order in ours
    )


def strike_counts(ledgers: Ledgers) -> dict[str, int]:
    """Return how often each fault switch struck, over all services."""
    switches = sorted({switch for counts in ledgers.faults.values() for switch in counts})
    return {
        switch: sum(counts.get(switch, 0) for counts in ledgers.faults.values())
        for switch in switches
    }


def _in(state: str, states: Mapping[int, str]) -> int:
    return sum(other == state for other in states.values())


def _is_lost(number: int, states: Mapping[int, str], alerted: Collection[int]) -> bool:
    state = states.get(number)
    if state is None or state in OPEN_PROCESS_STATES:
        return True
    return state not in FINAL_PROCESS_STATES and number not in alerted
