"""What the outside world saw: the services' ledgers, and the mails that were sent."""

import json
import re
import urllib.request
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

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
    #: How often each of the services' switches struck a call.
    struck: Counter[str] = field(default_factory=Counter)

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
    for service, ledger in ledgers(sandbox_url).items():
        forward, undo = OPERATIONS[service]
        counts: Counter[int] = Counter()
        for effect in ledger["effects"]:
            sign = {forward: 1, undo: -1}[effect["operation"]]
            counts[int(effect["order"])] += sign
        witness.standing[service] = counts
        witness.calls += int(ledger["calls"])
        witness.effects += len(ledger["effects"])
        witness.struck.update(ledger["faults"])
    for path in sorted(mail_folder.glob("*")) if mail_folder.exists() else ():
        witness.mails.update(int(order) for order in SUBJECT.findall(path.read_text()))
    return witness


def effect_times(sandbox_url: str) -> list[float]:
    """Return when effects happened, all services together, in order."""
    return sorted(
        datetime.fromisoformat(effect["at"]).timestamp()
        for ledger in ledgers(sandbox_url).values()
        for effect in ledger["effects"]
    )


def ledgers(sandbox_url: str) -> dict[str, Any]:
    """Return what each service says that it did, and how often its faults struck."""
    return {service: _ledger(sandbox_url, service) for service in OPERATIONS}


def _ledger(sandbox_url: str, service: str) -> dict[str, Any]:
    with urllib.request.urlopen(f"{sandbox_url}/{service}/ledger", timeout=30) as answer:
        found: dict[str, Any] = json.load(answer)
    return found
