"""Queues that applications read with consumers of their own."""

from dataclasses import dataclass

from workers.ops.doctor.registry import discover


@dataclass(frozen=True, slots=True)
class OwnQueue:
    """A queue that an application reads itself, and that may be missing."""

    name: str
    without: str
    start: str
    fall_behind: str


_own: dict[str, OwnQueue] = {}


def also_look_at(queue: OwnQueue) -> None:
    """Have the doctor check a queue of the application's own; for its module ``doctor``."""
    _own[queue.name] = queue


def own_queues() -> dict[str, OwnQueue]:
    """Return the queues that applications have registered, by name."""
    discover()
    return _own
