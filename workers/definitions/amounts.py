"""What processes are worth, as the apps that submit them say; the engine knows no order."""

import logging
from collections.abc import Callable, Collection, Mapping
from decimal import Decimal

log = logging.getLogger(__name__)

#: Takes ids of processes; returns the amounts of those that it knows, all in one currency.
Appraiser = Callable[[Collection[int]], Mapping[int, Decimal]]

_appraisers: list[Appraiser] = []


def register_amounts(appraiser: Appraiser) -> Appraiser:
    """Register a function that says what processes are worth, in one currency; a decorator.

    Incidents show it, and moving more than ``SAS_TWO_PERSONS_ABOVE`` takes two persons.  Workers
    and the admin call it for a few hundred processes at a time.  Its exceptions are logged, and
    the amounts then count as unknown.
    """
    if appraiser not in _appraisers:
        _appraisers.append(appraiser)
    return appraiser


def amounts(process_ids: Collection[int]) -> dict[int, Decimal]:
    """Return what processes are worth, without those that no app knows."""
    by_process: dict[int, Decimal] = {}
    for appraiser in _appraisers:
        unknown = set(process_ids) - by_process.keys()
        if not unknown:
            break
        try:
            by_process |= appraiser(unknown)
        except Exception:
            # An app's error must not keep operators from being notified.
            log.exception("amounts_unknown")
    return by_process
