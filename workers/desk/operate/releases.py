"""The name of this process's code, and the record that it ran here."""

import hashlib
from functools import cache

from workers.conf import sas
from workers.definitions import registry
from workers.desk.store import releases

_noted: set[str] = set()


def own() -> str:
    """Return the name of this process's code: ``SAS_RELEASE``, else made from its definitions."""
    return sas.release or f"definitions {_digest()}"


def note_own() -> None:
    """Record that this process's code runs here; asks the database once per process."""
    name = own()
    if name not in _noted:
        releases.note(name)
        _noted.add(name)


@cache
def _digest() -> str:
    """Return a short hash of the agents and of the workflows with their versions and steps."""
    agents = sorted(agent.name for agent in registry.agents())
    workflows = sorted(
        f"{workflow.name} {workflow.version} {[(s.name, s.agent) for s in workflow.steps]}"
        for workflow in registry.workflows()
    )
    return hashlib.sha256("\n".join([*agents, *workflows]).encode()).hexdigest()[:8]
