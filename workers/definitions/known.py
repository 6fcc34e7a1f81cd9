"""Which definitions a code has: what a worker with it may claim, and what it can call.

Workers report it, so that during a deployment each is given what its own code knows.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from workers.definitions import registry
from workers.runtime.json_text import encode_document


@dataclass(frozen=True, slots=True)
class KnownDefinitions:
    """The agents and workflow versions of one code."""

    #: Queue by name of the agent.
    agents: dict[str, str] = field(default_factory=dict)
    #: Agents for which a process claims itself.
    taking: frozenset[str] = frozenset()
    #: As ``version_name`` has them.
    versions: frozenset[str] = frozenset()

    def to_document(self) -> str:
        """Return it as JSON text; the same definitions are the same text."""
        names = {"agents": sorted(self.agents.items())}
        sets = {"taking": sorted(self.taking), "versions": sorted(self.versions)}
        return encode_document(names | sets)

    @classmethod
    def of_document(cls, document: Mapping[str, Any]) -> "KnownDefinitions":
        return cls(
            dict(document["agents"]),
            frozenset(document["taking"]),
            frozenset(document["versions"]),
        )

    def __add__(self, other: "KnownDefinitions") -> "KnownDefinitions":
        return KnownDefinitions(
            {**self.agents, **other.agents},
            self.taking | other.taking,
            self.versions | other.versions,
        )

    def __sub__(self, other: "KnownDefinitions") -> "KnownDefinitions":
        """Return what ``other`` has not."""
        return KnownDefinitions(
            {name: queue for name, queue in self.agents.items() if name not in other.agents},
            self.taking - set(other.agents),
            self.versions - other.versions,
        )

    def has_version(self, workflow: str, version: int) -> bool:
        """Say whether a version of a workflow is among them."""
        return version_name(workflow, version) in self.versions

    def __bool__(self) -> bool:
        return bool(self.agents or self.versions)


def version_name(workflow: str, version: int) -> str:
    """Return how a version of a workflow is called here, as ``due_steps.VERSION`` does."""
    return f"{workflow}:{version}"


#: What it was read from, and what was read.
_own: tuple[Any, KnownDefinitions, str] = (None, KnownDefinitions(), "")


def own() -> KnownDefinitions:
    """Return what the code of this process knows."""
    return _read()[1]


def own_code() -> str:
    """Return the name of that: equal where the same is known."""
    return _read()[2]


def code_of(known: KnownDefinitions) -> str:
    """Return a name for what is known: equal where the same is known."""
    return sha256(known.to_document().encode()).hexdigest()[:16]


def is_known(workflow: str, version: int, agent: str) -> bool:
    """Say whether this code can build a request of that version for that agent."""
    return registry.has_workflow(workflow, version) and registry.has_agent(agent)


def _read() -> tuple[Any, KnownDefinitions, str]:
    global _own  # noqa: PLW0603 (the cache)
    agents, workflows = registry.agents(), registry.workflows()
    if (agents, workflows) != _own[0]:
        known = KnownDefinitions(
            {agent.name: agent.queue for agent in agents},
            frozenset(agent.name for agent in agents if agent.takes_itself),
            frozenset(version_name(one.name, one.version) for one in workflows),
        )
        _own = (agents, workflows), known, code_of(known)
    return _own
