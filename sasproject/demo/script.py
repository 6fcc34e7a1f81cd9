"""The script of a demo: purchases and kills, reproducible by their seed."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from orders.submission import Customer, Line

FIRST_NAMES = (
    *("Ada", "Ben", "Chiara", "Dmitri", "Elif", "Femi", "Grace", "Hiro", "Ines", "Jonas"),
    *("Kofi", "Lena", "Mateo", "Nadia", "Omar", "Priya", "Quinn", "Rosa", "Sven", "Tara"),
)
LAST_NAMES = (
    *("Abbott", "Berg", "Costa", "Duval", "Eze", "Fischer", "Garcia", "Haddad", "Ito"),
    *("Jansen", "Kaya", "Lopez", "Moreau", "Novak", "Okafor", "Patel", "Rossi", "Sato"),
)
STREETS = ("Mill Lane", "Harbour Street", "Church Road", "Orchard Way", "Station Road")
PRODUCTS = 12

#: Share of the orders to an address that no carrier serves: a business outcome, not a fault.
UNDELIVERABLE_RATE = 0.025

#: One in so many orders is large: a person reviews it before anything is charged.
LARGE_EVERY = 12
LARGE_QUANTITY = 150

#: The part of the orders after which the payment service goes down, and for how long.
OUTAGE_AFTER = 0.62
OUTAGE_SECONDS = 4.0

#: Role -> the range of the part of the orders after which it is killed.
KILLS = {"agents": (0.25, 0.4), "scheduler": (0.5, 0.6), "broker": (0.7, 0.85)}

HEADLESS_SECONDS = 10.0
SLOWEST, FASTEST = 2.5, 6.0


@dataclass(frozen=True, slots=True)
class Purchase:
    """A customer and the lines of an order."""

    customer: Customer
    lines: list[Line]


@dataclass(frozen=True, slots=True)
class Kill:
    """A role to kill once ``after`` orders are accepted."""

    after: int
    role: str


def purchases(seed: int) -> Iterator[Purchase]:
    """Yield purchases for ever."""
    rng = Random(f"purchases {seed}")  # noqa: S311 (a script, no secret)
    for i in itertools.count(1):
        # Drawn for every order, so that the large ones do not change the others.
        purchase = _purchase(rng)
        yield purchase if i % LARGE_EVERY != LARGE_EVERY // 3 else _enlarged(purchase)


def kills(seed: int, orders: int, roles: Sequence[str]) -> list[Kill]:
    """Return the kills in a run of ``orders`` orders, for the given roles."""
    rng = Random(f"kills {seed}")  # noqa: S311
    # Drawn for every role, so that a missing one does not change the others.
    drawn = [
        Kill(max(1, round(orders * rng.uniform(begin, end))), role)
        for role, (begin, end) in KILLS.items()
    ]
    return [kill for kill in drawn if kill.role in roles]


def per_second(orders: int) -> float:
    """Return the number of orders per second that a headless run places."""
    return min(max(orders / HEADLESS_SECONDS, SLOWEST), FASTEST)


def _enlarged(purchase: Purchase) -> Purchase:
    lines = [Line(line.sku, LARGE_QUANTITY) for line in purchase.lines]
    return Purchase(purchase.customer, lines)


def _purchase(rng: Random) -> Purchase:
    first, last = rng.choice(FIRST_NAMES), rng.choice(LAST_NAMES)
    street = "Nowhere" if rng.random() < UNDELIVERABLE_RATE else rng.choice(STREETS)
    customer = Customer(
        name=f"{first} {last}",
        email=f"{first}.{last}@example.org".lower(),
        address=f"{rng.randint(1, 99)} {street}",
    )
    products = rng.sample(range(1, PRODUCTS + 1), rng.choice((1, 1, 2, 3)))
    return Purchase(
        customer, [Line(f"SKU-{product:03}", rng.randint(1, 3)) for product in products]
    )
