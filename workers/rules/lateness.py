"""Decide when a periodic duty is late, by its age.  Pure."""

#: A duty is late after this many intervals, plus some seconds for a slow one.
LATE_INTERVALS, LATE_SECONDS = 3, 2.0
#: A timestamp further in the future than this was written by a clock that was set back since.
#: A smaller difference is normal between two servers when one takes over from the other.
AHEAD_SECONDS = 2.0


def is_overdue(seconds: float | None, interval: float) -> bool:
    """Say whether a duty last performed ``seconds`` ago is late; None: never performed.

    A duty performed in the future is late, too: else it would not run until the clock gets there.
    """
    if seconds is None or is_ahead(seconds):
        return True
    return seconds > LATE_INTERVALS * interval + LATE_SECONDS


def is_ahead(seconds: float) -> bool:
    """Say whether an age lies in the future, written before the clock was set back."""
    return seconds < -AHEAD_SECONDS
