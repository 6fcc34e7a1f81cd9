"""A role: what one process of the stack runs, when it is ready and how it is ended."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path


def answers() -> bool:
    """The probe of a role that counts as ready as soon as it runs."""
    return True


@dataclass(frozen=True)
class Role:
    """One kind of process to keep running."""

    name: str
    argv: tuple[str, ...]
    env: Mapping[str, str]
    """The whole environment of the process, not an addition to ours."""
    cwd: Path | None = None
    ready_line: str = ""
    """Ready only after a line of output has held this text."""
    probe: Callable[[], bool] = answers
    """Asked until it says yes; it must come back within a second or so."""
    first: bool = False
    """Nothing listed after it starts before it is ready."""
    stage: int = 0
    """Stages are ended in ascending order, all roles of one stage together."""
    grace: float = 20.0
    """Seconds between SIGTERM and SIGKILL."""
