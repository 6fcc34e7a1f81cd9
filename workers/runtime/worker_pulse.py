"""Shared memory by which a worker's parent tells its children that it is alive and takes work.

A child whose parent is frozen, dead or shutting down takes no more work.
"""

import mmap
import os
import struct
from time import monotonic

#: A parent silent for this long is frozen or dead.
SILENT_SECONDS = 8.0

_BEAT = struct.Struct("d")
#: Which child is closing, and until when.
_CLOSING = struct.Struct("id")


class Pulse:
    """Created by the parent before its pool starts, so that the children inherit it."""

    def __init__(self) -> None:
        # Anonymous and shared: a forked child sees what the parent writes.
        self._memory = mmap.mmap(-1, _BEAT.size)
        self._closing = mmap.mmap(-1, _CLOSING.size)
        #: Queues that the worker serves.
        self.queues: tuple[str, ...] = ()
        #: Child processes of the worker.
        self.processes = 1

    def beat(self) -> None:
        """Record that the parent is alive, in one write, so that no child reads half of it."""
        self._memory[:] = _BEAT.pack(monotonic())

    def stop(self) -> None:
        """Tell the children to take no more work.  Safe in a signal handler."""
        self._memory[:] = _BEAT.pack(float("-inf"))

    def close(self, seconds: float) -> bool:
        """Have this child take no more work for a while.  False: another one does that already.

        So a worker never stops taking as a whole.  Two that ask in the same moment may both close.
        """
        pid, until = _CLOSING.unpack(self._closing[:])
        if pid != os.getpid() and monotonic() < until:
            return False
        self._closing[:] = _CLOSING.pack(os.getpid(), monotonic() + seconds)
        return True

    def is_beating(self) -> bool:
        """Say whether the parent is alive and not shutting down."""
        (beat,) = _BEAT.unpack(self._memory[:])
        return monotonic() - float(beat) < SILENT_SECONDS


#: Whether another live worker's code knows more than this one's.  Created in the parent.
_behind = mmap.mmap(-1, 1)


def set_behind(is_behind: bool) -> None:
    """Tell this process and the children whether another live worker's code knows more."""
    _behind[:] = bytes([is_behind])


def is_behind() -> bool:
    """Say whether another live worker's code knows more than this one's, as last reported."""
    return _behind[0] == 1


#: This worker's pulse; None outside a worker, and without a pool of forked processes.
pulse: Pulse | None = None
