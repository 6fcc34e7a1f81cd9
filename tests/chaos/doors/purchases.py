"""What is ordered: drawn from the seed, so that a run can be repeated."""

from dataclasses import dataclass
from random import Random
from typing import Any

#: The share that no carrier delivers: those orders must be undone.
UNDELIVERABLE = 0.03


@dataclass(frozen=True, slots=True)
class Purchase:
    """One order to be placed; the key stays the same however often it is sent."""

    key: str
    body: dict[str, Any]


def purchase(seed: int, number: int) -> Purchase:
    random = Random(f"{seed} purchase {number}")
    key = f"chaos-{seed}-{number:06}"
    street = "Nowhere" if random.random() < UNDELIVERABLE else "Mill Lane"
    skus = random.sample(range(1, 13), random.choice((1, 1, 2)))
    body = {
        "customer": {
            "name": f"Customer {number}",
            "email": f"customer-{number}@example.org",
            "address": f"{random.randint(1, 99)} {street}",
        },
        "lines": [{"sku": f"SKU-{sku:03}", "quantity": random.randint(1, 3)} for sku in skus],
        "reference": key,
    }
    return Purchase(key, body)
