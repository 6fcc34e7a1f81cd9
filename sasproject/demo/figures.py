"""The figures of a run in progress."""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from sasproject.demo.cohort import Cohort
from workers.states import (
    FINAL_PROCESS_STATES,
    FORWARD_PROCESS_STATES,
    OPEN_PROCESS_STATES,
    ProcessState,
)

#: States that are shown only if an order is in them, in their usual order.
NOTED = tuple(
    state
    for state in ProcessState
    if state not in FORWARD_PROCESS_STATES | {ProcessState.PROCESSED}
)


@dataclass(frozen=True, slots=True)
class Figures:
    """The state of the accepted orders at one moment."""

    placed: int = 0
    #: State -> number of orders.
    states: Mapping[str, int] | None = None
    #: Open orders that retry a failed step.
    failing: int = 0
    recovered: int = 0
    #: Accepted orders that are missing in the store, or in error without an alert.
    lost: int = 0
    kills: int = 0
    duplicates: int = 0

    def of(self, state: str) -> int:
        return (self.states or {}).get(state, 0)

    @property
    def open(self) -> int:
        """Count the open orders, including those not begun and those being undone."""
        return sum(self.of(state) for state in OPEN_PROCESS_STATES)


def read(cohort: Cohort, accepted: Collection[int], *, kills: int, duplicates: int) -> Figures:
    """Read the figures of a cohort; ``accepted`` are the order numbers that the submitter knows."""
    # The list before the store: an order that is accepted meanwhile is not lost.
    accepted = list(accepted)
    states = cohort.states()
    troubled = cohort.troubled()
    moving_or_ended = FINAL_PROCESS_STATES | OPEN_PROCESS_STATES
    stuck = {number for number, state in states.items() if state not in moving_or_ended}
    unalerted = stuck - cohort.alerted() if stuck else set()
    return Figures(
        placed=len(accepted),
        states=Counter(states.values()),
        failing=cohort.failing(),
        recovered=sum(
            states[number] in FINAL_PROCESS_STATES for number in troubled if number in states
        ),
        lost=sum(number not in states or number in unalerted for number in accepted),
        kills=kills,
        duplicates=duplicates,
    )
