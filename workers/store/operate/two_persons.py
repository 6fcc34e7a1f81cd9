"""Who may undo a process alone: asks the apps what it is worth, and compares."""

from collections.abc import Collection, Mapping
from decimal import Decimal

from workers.conf import sas
from workers.definitions import amounts
from workers.rules import two_persons
from workers.rules.compensation import Plan
from workers.rules.transitions import LockedProcess
from workers.states import PEOPLE


def worth(process_ids: Collection[int], actor: str) -> Mapping[int, Decimal]:
    """Return what processes are worth, of those that some app knows; nothing where none asks."""
    if sas.two_persons_above is None or not actor.startswith(PEOPLE):
        return {}
    return amounts.amounts(process_ids)


def refuse_alone(
    locked: LockedProcess, plan: Plan, actor: str, known: Mapping[int, Decimal]
) -> None:
    """Raise ``StateError`` where ``actor`` may not undo a process alone; ``known`` is its worth."""
    amount = known.get(locked.process.id)
    two_persons.refuse_alone(locked, plan, actor, amount, sas.two_persons_above)
