"""What a step that is a list of children declares: ``step(children=)``."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workers.definitions import checked_values
from workers.exceptions import WorkflowError

Json = dict[str, Any]
#: Returns the children's inputs from the process input and the results of settled steps.
Over = Callable[[Json, Mapping[str, Json]], Sequence[Json]]

#: Stands for the agent of such a step: the Scheduler itself carries it on.
CHILDREN = "children"
#: The most children of one step.
MOST_CHILDREN = 10_000
#: The most levels of children below a process.
DEEPEST = 5
#: The largest item, as JSON text.
MOST_ITEM_BYTES = 8_192


@dataclass(frozen=True, slots=True)
class Children:
    """The children of a step: one process of ``workflow`` for each item of ``over``.

    ``over`` is called again after a crash, so it must return the same list for the same input and
    results.  At most ``at_once`` children are under way; ``tolerate`` is the share of them, 0 to 1,
    that may end without being processed.
    """

    workflow: str
    over: Over
    at_once: int = 20
    tolerate: float = 0

    def check(self, where: str) -> None:
        """Raise ``WorkflowError`` for a value that cannot work; ``where`` names the step."""
        checked_values.name(where, "children: workflow", self.workflow)
        checked_values.function(where, "children: over", self.over, "input", "results")
        checked_values.whole(
            *(where, "children: at_once", self.at_once), least=1, most=MOST_CHILDREN
        )
        is_number = isinstance(self.tolerate, int | float) and not isinstance(self.tolerate, bool)
        if not is_number or not 0 <= self.tolerate <= 1:
            raise WorkflowError(
                f"{where}: children: tolerate must be a number from 0 to 1, got {self.tolerate!r}. "
                "Give the share of children that may fail."
            )

    def to_json(self) -> Json:
        """Return what the rows keep of it: everything but the function."""
        return {
            "workflow": self.workflow,
            "at_once": self.at_once,
            "tolerate": float(self.tolerate),
        }
