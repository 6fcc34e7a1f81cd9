"""The script of a demo: who buys what, and what is killed when.  The same seed, the same script."""

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

#: Share of the orders to an address that no carrier goes to: a business outcome, no fault.
UNDELIVERABLE_RATE = 0.025

#: One order in so many is large: a person looks at it before anything is charged.
LARGE_EVERY = 12
LARGE_QUANTITY = 150

#: The part of the orders after which the payment service goes away, and for how long.
OUTAGE_AFTER = 0.62
OUTAGE_SECONDS = 4.0

#: Role -> the part of the orders after which it is killed, from and to.
KILLS = {"agents": (0.25, 0.4), "scheduler": (0.5, 0.6), "broker": (0.7, 0.85)}

HEADLESS_SECONDS = 10.0
SLOWEST, FASTEST = 2.5, 6.0


@dataclass(frozen=True, slots=True)
class Purchase:
    """What one customer orders."""

    customer: Customer
    lines: list[Line]


@dataclass(frozen=True, slots=True)
class Kill:
    """A process to be killed once so many orders were accepted."""

    after: int
    role: str


def purchases(seed: int) -> Iterator[Purchase]:
    """Yield purchases without end."""
    rng = Random(f"purchases {seed}")  # noqa: S311 (a script, no secret)
    for place in itertools.count(1):
        # Drawn for every order, so that the large ones move none of the others.
        purchase = _purchase(rng)
        yield purchase if place % LARGE_EVERY != LARGE_EVERY // 3 else _enlarged(purchase)


def kills(seed: int, orders: int, roles: Sequence[str]) -> list[Kill]:
    """Return what is killed in a run of so many orders, as far as its role is among ours."""
    rng = Random(f"kills {seed}")  # noqa: S311
    # Drawn for every role, so that one that is missing moves none of the others.
    drawn = [
        Kill(max(1, round(orders * rng.uniform(begin, end))), role)
        for role, (begin, end) in KILLS.items()
    ]
    return [kill for kill in drawn if kill.role in roles]


def per_second(orders: int) -> float:
    """Return how many orders a second a headless run places."""
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
