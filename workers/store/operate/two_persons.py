"""Check what a person may not do alone: ask the apps what a process is worth, and compare."""

from collections.abc import Collection, Mapping
from decimal import Decimal

from workers.conf import sas
from workers.definitions import amounts
from workers.rules import two_persons
from workers.rules.transitions import LockedProcess
from workers.states import PEOPLE
from workers.store import families

#: So many processes are appraised at once.
PORTION = 500


def worth(process_ids: Collection[int], actor: str) -> Mapping[int, Decimal]:
    """Return the amounts of processes that an app knows; empty if no limit applies.

    Children move with their parent, so each is worth what all of them are; unknown if one is.
    """
    if sas.two_persons_above is None or not actor.startswith(PEOPLE):
        return {}
    found = families.find(process_ids)
    members = sorted({member for _, member in found})
    known: dict[int, Decimal] = {}
    for begin in range(0, len(members), PORTION):
        known |= amounts.amounts(members[begin : begin + PORTION])
    worths: dict[int, Decimal] = dict.fromkeys(process_ids, Decimal(0))
    for process_id, member in found:
        if member in known and process_id in worths:
            worths[process_id] += known[member]
        else:
            worths.pop(process_id, None)
    return worths


def refuse_alone(
    locked: LockedProcess, moves: Collection[str], actor: str, amounts: Mapping[int, Decimal]
) -> None:
    """Raise ``StateError`` if ``actor`` may not move this alone.

    ``moves`` names what moves; ``amounts`` has the amounts of processes.
    """
    amount = amounts.get(locked.process.id)
    two_persons.refuse_alone(locked, moves, actor, amount, sas.two_persons_above)
