"""Check what a person may not do alone: ask the apps what a process is worth, and compare."""

from collections.abc import Collection, Mapping
from decimal import Decimal

from workers.conf import sas
from workers.definitions import amounts
from workers.rules import two_persons
from workers.rules.transitions import LockedProcess
from workers.states import PEOPLE


def worth(process_ids: Collection[int], actor: str) -> Mapping[int, Decimal]:
    """Return the amounts of processes that an app knows; empty if no limit applies."""
    if sas.two_persons_above is None or not actor.startswith(PEOPLE):
        return {}
    return amounts.amounts(process_ids)


def refuse_alone(
    locked: LockedProcess, moves: Collection[str], actor: str, amounts: Mapping[int, Decimal]
) -> None:
    """Raise ``StateError`` if ``actor`` may not move this alone.

    ``moves`` names what moves; ``amounts`` has the amounts of processes.
    """
    amount = amounts.get(locked.process.id)
    two_persons.refuse_alone(locked, moves, actor, amount, sas.two_persons_above)
