"""Schedules: what an application declares of work that begins by the clock."""

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal, get_args

from workers.definitions import checked_values, instants
from workers.definitions.instants import Timing
from workers.definitions.workflow import Workflow
from workers.exceptions import WorkflowError

#: What becomes of an instant while the process of the one before runs.
Overlap = Literal["skip", "queue", "both", "replace"]

#: The poll looks about as often.
SHORTEST = timedelta(seconds=10)
LONGEST = timedelta(days=366)
LONGEST_CRON, LONGEST_ZONE = 200, 100
MOST_JITTER_SECONDS = 86_400


@dataclass(frozen=True, slots=True)
class Schedule:
    """Processes of a workflow that begin by the clock; the newest version at each instant.

    ``cron`` has five fields and follows the clock of ``time_zone``; ``every`` is an interval, from
    the epoch on: every 6 hours is 0, 6, 12 and 18 o'clock in UTC.

    While the process of the instant before runs, also paused or in error, ``overlap`` decides:
    ``"skip"`` leaves the instant out, ``"queue"`` has it wait, ``"both"`` begins another process,
    ``"replace"`` cancels the one that runs.  ``catch_up`` is how late an instant may fire, whatever
    delayed it; one that is later is missed, counted and told.  ``jitter_seconds`` spreads the
    instants of many schedules: each fires up to so much later, always by the same time.

    ``input`` is a dict, or in code a function of the instant, in the time zone: it may be called
    again, and must not write.  ``subject`` names every process; by default, name and instant do.

    Raises ``WorkflowError`` for what cannot work.
    """

    name: str
    workflow: str | Workflow
    _: KW_ONLY
    cron: str = ""
    every: timedelta | None = None
    time_zone: str = "UTC"
    overlap: Overlap = "skip"
    catch_up: timedelta = timedelta(hours=1)
    jitter_seconds: int = 0
    input: Mapping[str, Any] | Callable[[datetime], dict[str, Any]] = field(default_factory=dict)
    attributes: Mapping[str, object] | None = None
    subject: str | None = None

    def __post_init__(self) -> None:
        checked_values.name("A schedule", "name", self.name)
        where = f"Schedule {self.name}"
        if isinstance(self.workflow, Workflow):
            object.__setattr__(self, "workflow", self.workflow.name)
        checked_values.name(where, "workflow", self.workflow)
        if bool(self.cron) == (self.every is not None):
            raise WorkflowError(
                f"{where} must have either cron or every, got cron={self.cron!r} and"
                f" every={self.every!r}. Give one of them."
            )
        if self.every is not None:
            _duration(where, "every", self.every, SHORTEST)
        for name, longest in (("cron", LONGEST_CRON), ("time_zone", LONGEST_ZONE)):
            value = getattr(self, name)
            if not isinstance(value, str) or len(value) > longest:
                raise WorkflowError(
                    f"{where}: {name} must be text of up to {longest} characters, got {value!r}."
                )
        instants.check(where, self.timing)
        if self.overlap not in (known := get_args(Overlap)):
            raise WorkflowError(
                f"{where}: overlap must be one of {', '.join(known)}, got {self.overlap!r}."
            )
        _duration(where, "catch_up", self.catch_up, timedelta())
        checked_values.whole(
            where, "jitter_seconds", self.jitter_seconds, least=0, most=MOST_JITTER_SECONDS
        )
        if not isinstance(self.input, Mapping):
            checked_values.function(where, "input", self.input, "at")

    @property
    def timing(self) -> Timing:
        return Timing(self.cron, self.every, self.time_zone)


def _duration(where: str, name: str, value: object, least: timedelta) -> None:
    is_right = isinstance(value, timedelta) and least <= value <= LONGEST
    # The rows have seconds.
    if not is_right or value.microseconds:  # type: ignore[attr-defined]
        raise WorkflowError(
            f"{where}: {name} must be a timedelta of whole seconds from {least} to {LONGEST},"
            f" got {value!r}. Write timedelta(hours=1)."
        )
