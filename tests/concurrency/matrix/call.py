"""A verb of the store, called on a scene."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.concurrency.matrix.scene import Scene, Setting

ANN = "operator:ann"


@dataclass(frozen=True)
class Call:
    """A verb, by its name in the code, called on a scene."""

    verb: str
    run: Callable[[Scene], Any]
    settings: tuple[Setting, ...]
    #: Tells two calls of one verb apart.
    how: str = ""

    @property
    def name(self) -> str:
        return f"{self.verb}, {self.how}" if self.how else self.verb
