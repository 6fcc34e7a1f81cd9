"""Money, goods and papers of every order: what the services' ledgers have, against its state.

Pure, and independent of the engine and of its invariants: it reads no flag by which the engine
steers, only how an order ended, what its steps ended as, and what a person did by hand.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal

#: The step -> the services of which one has its effect, and what that is called.
STEPS = {
    "charge_payment": (("payment",), "charge"),
    "book_shipment": (("shipping", "courier"), "parcel"),
    "issue_invoice": (("billing",), "invoice"),
}
#: Services whose effects have a sum, which is the order's total.
PRICED = {"payment": "charge", "billing": "invoice"}
UNDONE = ("compensated", "cancelled")


@dataclass(frozen=True, slots=True)
class Effect:
    """One effect in a ledger; with ``undoes``, it takes back the one of that key."""

    service: str
    operation: str
    key: str
    order: int
    amount: Decimal | None = None
    undoes: str | None = None


@dataclass(frozen=True, slots=True)
class Account:
    """What the shop says of one order."""

    number: int
    state: str
    total: Decimal
    #: SKU -> quantity.
    ordered: Mapping[str, int]
    reserved: Mapping[str, int]
    #: Step -> its state.
    steps: Mapping[str, str] = field(default_factory=dict)
    #: Steps whose undo has not ended.
    undoing: frozenset[str] = frozenset()
    #: Steps, or steps whose undo, a person did or left out: their effects are in no ledger.
    by_hand: frozenset[str] = frozenset()
    #: An operator was told.
    is_told: bool = False
    #: It was sent back, and the return has ended.
    is_returned: bool = False


def reconcile(accounts: Iterable[Account], effects: Iterable[Effect]) -> dict[int, list[str]]:
    """Return, by order, everything that its state does not explain; nothing: all sums are right."""
    found: dict[int, list[str]] = {}
    forward, standing = {}, {}
    for effect in effects:
        if effect.undoes is None:
            forward[effect.service, effect.key] = effect
            standing[effect.service, effect.key] = effect
        elif wrong := _wrong_undo(effect, forward, standing):
            found.setdefault(effect.order, []).append(wrong)
        else:
            del standing[effect.service, effect.undoes]
    by_order: dict[int, list[Effect]] = {}
    for effect in standing.values():
        by_order.setdefault(effect.order, []).append(effect)
    known = {account.number: account for account in accounts}
    for effect in forward.values():
        if effect.order not in known:
            found.setdefault(effect.order, []).append("effects of an order that nobody placed")
        elif wrong := _wrong_sum(effect, known[effect.order]):
            found.setdefault(effect.order, []).append(wrong)
    for number, account in known.items():
        if wrongs := list(_wrongs(account, by_order.get(number, []))):
            found.setdefault(number, []).extend(wrongs)
    return found


def goods(
    accounts: Iterable[Account], stock: Mapping[str, int], stocked: int
) -> dict[str, tuple[int, int]]:
    """Return the SKUs of which more or less is in stock than the orders left, and both figures."""
    wanted = dict.fromkeys(stock, stocked)
    for account in accounts:
        for sku, quantity in account.reserved.items():
            wanted[sku] -= quantity
    return {sku: (stock[sku], wanted[sku]) for sku in stock if stock[sku] != wanted[sku]}


def _wrong_undo(
    undo: Effect,
    forward: Mapping[tuple[str, str], Effect],
    standing: Mapping[tuple[str, str], Effect],
) -> str:
    undone = forward.get((undo.service, undo.undoes or ""))
    if undone is None:
        return f"a {undo.operation} of nothing"
    if undone.order != undo.order:
        return f"a {undo.operation} of what order {undone.order} has"
    if (undo.service, undone.key) not in standing:
        return f"a second {undo.operation} of one {undone.operation}"
    if undo.service in PRICED and undo.amount not in (None, undone.amount):
        return f"a {undo.operation} of {undo.amount} for a {undone.operation} of {undone.amount}"
    return ""


def _wrong_sum(effect: Effect, account: Account) -> str:
    if effect.service not in PRICED or effect.amount == account.total:
        return ""
    return f"the {PRICED[effect.service]} is of {effect.amount}, the total is {account.total}"


def _wrongs(account: Account, standing: list[Effect]) -> Iterator[str]:
    counts = {
        step: sum(effect.service in services for effect in standing)
        for step, (services, _) in STEPS.items()
    }
    for step, (_, word) in STEPS.items():
        allowed = _allowed(account, step)
        if counts[step] not in allowed:
            wanted = " or ".join(str(count) for count in sorted(allowed))
            yield f"{account.state} with {counts[step]} standing {word}s, must be {wanted}"
    is_paid = counts["charge_payment"] or account.is_returned
    if counts["book_shipment"] and not (is_paid or "charge_payment" in account.by_hand):
        yield "a parcel without payment"
    if account.reserved not in _goods_allowed(account):
        yield f"{account.state} with {dict(account.reserved)} reserved of {dict(account.ordered)}"
    if account.state == "error" and not account.is_told:
        yield "in error, and nobody was told"
    if account.state not in (*UNDONE, "processed", "error"):
        yield f"not at rest: {account.state}"


def _allowed(account: Account, step: str) -> set[int]:
    """Return how many effects of a step may stand."""
    if step in account.by_hand:
        return {0, 1}
    if account.state in UNDONE:
        return {0}
    if account.state == "processed":
        return {0} if account.is_returned and step == "charge_payment" else {1}
    # Under an operator's eyes, or still moving: what the steps say.
    if step in account.undoing or account.steps.get(step) == "error":
        return {0, 1}
    return {1} if account.steps.get(step) == "processed" else {0}


def _goods_allowed(account: Account) -> tuple[Mapping[str, int], ...]:
    if "reserve_stock" in account.by_hand or account.state not in (*UNDONE, "processed"):
        return (account.ordered, {})
    is_out = account.state == "processed" and not account.is_returned
    return (account.ordered if is_out else {},)
