"""What a worker's parent process tells its children without a database: that it lives, and takes.

Memory that both share.  A child whose parent is frozen, dead or shutting down takes no more work.
"""

import mmap
import struct
from time import monotonic

#: A parent that is silent for so long is frozen or gone.
SILENT_SECONDS = 8.0

_BEAT = struct.Struct("d")


class Pulse:
    """Made by the parent before its pool starts, so that the children inherit it."""

    def __init__(self) -> None:
        # Anonymous and shared: a forked child sees what the parent writes.
        self._memory = mmap.mmap(-1, _BEAT.size)
        #: Queues that the worker serves.
        self.queues: tuple[str, ...] = ()
        #: Child processes of the worker.
        self.processes = 1

    def beat(self) -> None:
        """Note that the parent lives.  Written in one go, so that no child reads half of it."""
        self._memory[:] = _BEAT.pack(monotonic())

    def stop(self) -> None:
        """Have the children take no more.  Safe in a signal handler."""
        self._memory[:] = _BEAT.pack(float("-inf"))

    def is_beating(self) -> bool:
        """Say whether the parent lives and wants more work taken."""
        (beat,) = _BEAT.unpack(self._memory[:])
        return monotonic() - float(beat) < SILENT_SECONDS


#: Whether the code of another live worker knows what this one's does not.  Made as the parent is.
_behind = mmap.mmap(-1, 1)


def set_behind(is_behind: bool) -> None:
    """Tell this process and the children whether another live worker's code knows more."""
    _behind[:] = bytes([is_behind])


def is_behind() -> bool:
    """Say whether another live worker's code knows what this one's does not, as last reported."""
    return _behind[0] == 1


#: This worker's; None outside a worker, and without a pool of forked processes.
pulse: Pulse | None = None
