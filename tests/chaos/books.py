"""Reads what the reconciliation compares: the shop's rows by plain SQL, the services' ledgers."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

from tests.chaos.reconciliation import Account, Effect, goods, reconcile
from tests.chaos.witness import ledgers

#: What `seed_demo` puts into stock of each product.
STOCKED = 1_000_000

ORDERS = (
    "SELECT o.number, p.state, o.total, EXISTS (SELECT 1 FROM workers_alert a WHERE a.process_id ="
    " p.id) FROM orders_order o JOIN workers_process p ON p.id = o.process_id"
)
LINES = (
    "SELECT l.order_id, p.sku, l.quantity FROM orders_orderline l"
    " JOIN orders_product p ON p.id = l.product_id"
)
RESERVED = (
    "SELECT r.order_id, p.sku, r.quantity FROM orders_reservation r"
    " JOIN orders_product p ON p.id = r.product_id WHERE r.released_at IS NULL"
)
STOCK = "SELECT sku, stock FROM orders_product"
#: Every step, and of an undo the step that it undoes.
STEPS = (
    "SELECT o.number, s.name, s.state, f.name FROM workers_step s"
    " JOIN orders_order o ON o.process_id = s.process_id"
    " LEFT JOIN workers_step f ON f.id = s.undoes_id"
)
#: What people did; whether by hand is in the detail.
PEOPLE = (
    "SELECT o.number, coalesce(f.name, s.name), j.detail FROM workers_journal j"
    " JOIN orders_order o ON o.process_id = j.process_id JOIN workers_step s ON s.id = j.step_id"
    " LEFT JOIN workers_step f ON f.id = s.undoes_id WHERE substr(j.actor, 1, 9) = 'operator:'"
)
RETURNS = "SELECT input FROM workers_process WHERE workflow = 'return' AND state = 'processed'"


#: Asks the shop's database.
Rows = Callable[[str], list[Any]]


def unexplained(rows: Rows, sandbox_url: str, *, stocked: int = STOCKED) -> list[str]:
    """Return every order, and SKU, whose sums are not what they must be."""
    accounts = list(_accounts(rows))
    found = reconcile(accounts, _effects(sandbox_url))
    stock = {str(sku): int(count) for sku, count in rows(STOCK)}
    return [
        *(f"order {number}: {', '.join(wrongs)}" for number, wrongs in sorted(found.items())),
        *(
            f"{sku}: {there} in stock, must be {wanted}"
            for sku, (there, wanted) in goods(accounts, stock, stocked).items()
        ),
    ]


def _accounts(rows: Rows) -> Iterator[Account]:
    ordered, reserved = _quantities(rows, LINES), _quantities(rows, RESERVED)
    steps: dict[int, dict[str, str]] = defaultdict(dict)
    undoing: dict[int, set[str]] = defaultdict(set)
    for number, name, state, undone in rows(STEPS):
        if undone is None:
            steps[number][name] = state
        elif state not in ("processed", "skipped"):
            undoing[number].add(undone)
    by_hand: dict[int, set[str]] = defaultdict(set)
    for number, name, detail in rows(PEOPLE):
        if _json(detail).get("by_hand"):
            by_hand[number].add(name)
    returned = {_json(row[0]).get("order") for row in rows(RETURNS)}
    for number, state, total, is_told in rows(ORDERS):
        yield Account(
            int(number), state, Decimal(str(total)), ordered[number], reserved[number],
            steps[number], frozenset(undoing[number]), frozenset(by_hand[number]),
            bool(is_told), number in returned,
        )  # fmt: skip


def _quantities(rows: Rows, sql: str) -> dict[int, dict[str, int]]:
    found: dict[int, dict[str, int]] = defaultdict(dict)
    for number, sku, quantity in rows(sql):
        found[number][sku] = found[number].get(sku, 0) + int(quantity)
    return found


def _effects(sandbox_url: str) -> Iterator[Effect]:
    for service, ledger in ledgers(sandbox_url).items():
        for effect in ledger["effects"]:
            amount = effect.get("amount")
            yield Effect(
                service,
                effect["operation"],
                effect["key"],
                int(effect["order"]),
                None if amount is None else Decimal(amount),
                effect.get("undoes"),
            )


def _json(value: Any) -> dict[str, Any]:
    """Return a JSON column as either database gives it."""
    found: dict[str, Any] = json.loads(value) if isinstance(value, str) else value
    return found
