"""A role: the command of one process of the stack, when it is ready and how it is ended."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path


def answers() -> bool:
    """Probe a role that is ready as soon as it runs."""
    return True


@dataclass(frozen=True)
class Role:
    """A process to keep running."""

    name: str
    argv: tuple[str, ...]
    env: Mapping[str, str]
    """The whole environment of the process, not an addition to ours."""
    cwd: Path | None = None
    ready_line: str = ""
    """Ready only after a line of output has contained this text."""
    probe: Callable[[], bool] = answers
    """Called until it returns True; each call must return within about a second."""
    first: bool = False
    """Later roles start only once it is ready."""
    stage: int = 0
    """Stages are ended in ascending order, all roles of one stage together."""
    grace: float = 20.0
    """Seconds between SIGTERM and SIGKILL."""
