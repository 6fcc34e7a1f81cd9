"""What the outside world saw: the services' ledgers, and the mails that were sent."""

import json
import re
import urllib.request
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

#: The operation that has an effect and the one that undoes it, by service.
OPERATIONS = {
    "payment": ("charge", "refund"),
    "shipping": ("book", "cancel"),
    "courier": ("book", "cancel"),
    "billing": ("issue", "void"),
}
SUBJECT = re.compile(r"^Subject: Your order (\d+)$", re.MULTILINE)


@dataclass
class Witness:
    """Effects that stand, by service and order, and mails by order."""

    standing: dict[str, Counter[int]] = field(default_factory=dict)
    mails: Counter[int] = field(default_factory=Counter)
    calls: int = 0
    effects: int = 0

    def doubled(self) -> list[str]:
        """Return every effect beyond the one that an order may have, and every undo too many."""
        found = [
            f"{service}: order {order} has {count} effects"
            for service, counts in self.standing.items()
            for order, count in sorted(counts.items())
            if count not in (0, 1)
        ]
        found += [
            f"mail: order {order} was confirmed {count} times"
            for order, count in sorted(self.mails.items())
            if count > 1
        ]
        return found


def ask(sandbox_url: str, mail_folder: Path) -> Witness:
    """Read every ledger and every mail."""
    witness = Witness()
    for service, (forward, undo) in OPERATIONS.items():
        with urllib.request.urlopen(f"{sandbox_url}/{service}/ledger", timeout=30) as answer:
            ledger = json.load(answer)
        counts: Counter[int] = Counter()
        for effect in ledger["effects"]:
            sign = {forward: 1, undo: -1}[effect["operation"]]
            counts[int(effect["order"])] += sign
        witness.standing[service] = counts
        witness.calls += int(ledger["calls"])
        witness.effects += len(ledger["effects"])
    for path in sorted(mail_folder.glob("*")) if mail_folder.exists() else ():
        witness.mails.update(int(order) for order in SUBJECT.findall(path.read_text()))
    return witness
