"""Which definitions the code of a process has: what it may claim, and what it can call.

Workers report it, so that during a deployment each gets only work that its own code knows.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from workers.definitions import registry
from workers.runtime.json_text import encode_document


@dataclass(frozen=True, slots=True)
class KnownDefinitions:
    """The agents and workflow versions that one state of the code has."""

    #: Queues by agent.
    agents: dict[str, str] = field(default_factory=dict)
    #: Names from ``version_name``.
    versions: frozenset[str] = frozenset()

    def to_document(self) -> str:
        """Return the definitions as JSON; the same definitions are the same text."""
        document = {"agents": sorted(self.agents.items()), "versions": sorted(self.versions)}
        return encode_document(document)

    @classmethod
    def of_document(cls, document: Mapping[str, Any]) -> "KnownDefinitions":
        return cls(dict(document["agents"]), frozenset(document["versions"]))

    def __add__(self, other: "KnownDefinitions") -> "KnownDefinitions":
        return KnownDefinitions(
            {**self.agents, **other.agents},
            self.versions | other.versions,
        )

    def __sub__(self, other: "KnownDefinitions") -> "KnownDefinitions":
        """Return the definitions that ``other`` lacks."""
        return KnownDefinitions(
            {name: queue for name, queue in self.agents.items() if name not in other.agents},
            self.versions - other.versions,
        )

    def has_version(self, workflow: str, version: int) -> bool:
        """Say whether a version of a workflow is among them."""
        return version_name(workflow, version) in self.versions

    def __bool__(self) -> bool:
        return bool(self.agents or self.versions)


def version_name(workflow: str, version: int) -> str:
    """Return the name of a workflow's version, as ``due_steps.VERSION`` has it in SQL."""
    return f"{workflow}:{version}"


#: Cache: the agents and workflows, their definitions, and the name of those.
_own: tuple[Any, KnownDefinitions, str] = (None, KnownDefinitions(), "")


def own() -> KnownDefinitions:
    """Return the definitions of this process's code."""
    return _read()[1]


def own_code() -> str:
    """Return a name for this process's definitions: the same for equal ones."""
    return _read()[2]


def code_of(definitions: KnownDefinitions) -> str:
    """Return a name for definitions: the same for equal ones."""
    return sha256(definitions.to_document().encode()).hexdigest()[:16]


def is_known(workflow: str, version: int, agent: str) -> bool:
    """Say whether this code can build a request of that version for that agent."""
    return registry.has_workflow(workflow, version) and registry.has_agent(agent)


def _read() -> tuple[Any, KnownDefinitions, str]:
    global _own  # noqa: PLW0603 (the cache)
    agents, workflows = registry.agents(), registry.workflows()
    if (agents, workflows) != _own[0]:
        definitions = KnownDefinitions(
            {agent.name: agent.queue for agent in agents},
            frozenset(version_name(spec.name, spec.version) for spec in workflows),
        )
        _own = (agents, workflows), definitions, code_of(definitions)
    return _own
