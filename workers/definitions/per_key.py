"""Limits of an agent's calls for each value of an attribute, such as one at a time per customer."""

from dataclasses import dataclass

from workers.definitions import checked_values, discovery
from workers.exceptions import WorkflowError


@dataclass(frozen=True, slots=True)
class PerKey:
    """At most ``window`` calls of an agent at once for each value of a process's attribute.

    A call counts until it has ended or its claim has expired, and so does one that waits for its
    callback.
    """

    attribute: str
    window: int = 1

    def __post_init__(self) -> None:
        if not isinstance(self.attribute, str) or not self.attribute.isidentifier():
            raise WorkflowError(
                f"PerKey: attribute must be the name of an attribute, got {self.attribute!r}."
                ' Write PerKey("customer").'
            )
        if self.window is None:
            raise WorkflowError("PerKey: window must be a whole number, got None. Leave it out.")
        checked_values.whole("PerKey", "window", self.window, least=1)


#: Agents by name.  Whoever un-blocks, such as the Supervisor, knows no registry.
_agents: dict[str, object] = {}


def note(name: str, agent: object) -> None:
    """Note an agent that is being registered."""
    _agents[name] = agent


def window(name: str) -> int | None:
    """Return how many calls of each key an agent may have at once; None: it limits none."""
    discovery.import_modules("agents", "workflows", "webhooks")
    per_key: PerKey | None = getattr(_agents.get(name), "per_key", None)
    return None if per_key is None else per_key.window
