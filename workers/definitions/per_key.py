"""Limits of an agent's calls for each value of an attribute, such as one at a time per customer."""

from dataclasses import dataclass

from workers.definitions import checked_values, discovery
from workers.exceptions import WorkflowError

#: The most calls a second.
MAX_RATE = 1_000


@dataclass(frozen=True, slots=True)
class PerKey:
    """At most ``window`` calls of an agent at once for each value of a process's attribute.

    A call counts until it has ended or its claim has expired, and so does one that waits for its
    callback.  ``rate`` is how many may begin in a second for each value; None: no limit.
    """

    attribute: str
    window: int = 1
    rate: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.attribute, str) or not self.attribute.isidentifier():
            raise WorkflowError(
                f"PerKey: attribute must be the name of an attribute, got {self.attribute!r}."
                ' Write PerKey("customer").'
            )
        if self.window is None:
            raise WorkflowError("PerKey: window must be a whole number, got None. Leave it out.")
        checked_values.whole("PerKey", "window", self.window, least=1)
        is_number = isinstance(self.rate, int | float) and not isinstance(self.rate, bool)
        if self.rate is not None and not (is_number and 0 < self.rate <= MAX_RATE):
            raise WorkflowError(
                f"PerKey: rate must be a number above 0 and at most {MAX_RATE}, or None, got"
                f" {self.rate!r}. Give the calls a second of each key."
            )


#: Agents by name.  Whoever un-blocks, such as the Supervisor, knows no registry.
_agents: dict[str, object] = {}


def note(name: str, agent: object) -> None:
    """Note an agent that is being registered."""
    _agents[name] = agent


def of(name: str) -> PerKey | None:
    """Return how an agent limits each key; None: it limits none, or is unknown here."""
    discovery.import_modules("agents", "workflows", "webhooks")
    per_key: PerKey | None = getattr(_agents.get(name), "per_key", None)
    return per_key


def rate(name: str) -> float | None:
    """Return how many calls of each key an agent may begin in a second, in this code."""
    limits = of(name)
    return None if limits is None else limits.rate
