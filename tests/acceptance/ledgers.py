"""What the remote services did, by their own account."""

import json
import urllib.request
from typing import Any


def effects(url: str, service: str, operation: str) -> list[Any]:
    """Return the order of every effect of one operation, in order."""
    with urllib.request.urlopen(f"{url}/{service}/ledger", timeout=5) as answer:
        found = json.load(answer)["effects"]
    return [row["order"] for row in found if row["operation"] == operation]
