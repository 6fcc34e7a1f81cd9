"""Queues that applications read themselves, with consumers of their own."""

from dataclasses import dataclass

from workers.desk.doctor.registry import discover


@dataclass(frozen=True, slots=True)
class OwnQueue:
    """A queue that an application reads itself, and may do without."""

    name: str
    without: str
    start: str
    fall_behind: str


_own: dict[str, OwnQueue] = {}


def also_look_at(queue: OwnQueue) -> None:
    """Have ``doctor`` look at a queue of the application's own; for its module ``doctor``."""
    _own[queue.name] = queue


def own_queues() -> dict[str, OwnQueue]:
    """Return what applications have asked for, by name."""
    discover()
    return _own
