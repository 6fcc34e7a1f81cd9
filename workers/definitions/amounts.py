"""What processes are worth: the app that submitted them says so; the engine knows no order."""

import logging
from collections.abc import Callable, Collection, Mapping
from decimal import Decimal

log = logging.getLogger(__name__)

#: Takes ids of processes; returns what those are worth that it knows, all in one currency.
Appraiser = Callable[[Collection[int]], Mapping[int, Decimal]]

_appraisers: list[Appraiser] = []


def register_amounts(appraiser: Appraiser) -> Appraiser:
    """Register a function that says what processes are worth, in one currency; a decorator.

    Incidents show it, and moving more than ``SAS_TWO_PERSONS_ABOVE`` takes two persons.  It is
    asked for a few hundred processes at a time, by workers and by the admin.  What it raises is
    logged, and the amounts then count as unknown.
    """
    if appraiser not in _appraisers:
        _appraisers.append(appraiser)
    return appraiser


def amounts(process_ids: Collection[int]) -> dict[int, Decimal]:
    """Return what processes are worth, of those that some app knows."""
    known: dict[int, Decimal] = {}
    for appraiser in _appraisers:
        unknown = set(process_ids) - known.keys()
        if not unknown:
            break
        try:
            known |= appraiser(unknown)
        except Exception:
            # An app's mistake must keep no operator from being told.
            log.exception("amounts_unknown")
    return known
