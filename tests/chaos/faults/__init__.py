"""Every fault there is, by its name."""

from tests.chaos.faults import (
    brokers,
    clocks,
    crashes,
    databases,
    disks,
    doubles,
    messages,
    network,
    pauses,
    services,
)
from tests.chaos.faults.fault import Fault, Scene, TooLate

CATALOGUE: dict[str, Fault] = {
    fault.name: fault
    for kind in (
        crashes, pauses, doubles, databases, disks, brokers, network, messages, clocks, services
    )
    for fault in kind.FAULTS
}  # fmt: skip
#: What strikes when nothing is said.
USUAL = (
    "kill",
    "kill-child",
    "freeze",
    "rolling",
    "broker-stop",
    "database-crash",
    "lose",
    "flaky",
)
#: Such a fault may take a status that the broker had confirmed with it.
FORGETFUL = frozenset({"broker-wipe", "broker-disk", "database-disk", "lose", "purge"})

__all__ = ["CATALOGUE", "FORGETFUL", "USUAL", "Fault", "Scene", "TooLate"]
