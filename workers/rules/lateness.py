"""When a periodic duty is late, by its age.  Pure."""

#: A duty is late after so many of its intervals, and some time for a slow one.
LATE_INTERVALS, LATE_SECONDS = 3, 2.0
#: An instant further in the future than this was written by a clock that was set back since.
#: Less is the difference between two servers, of which one has taken over from the other.
AHEAD_SECONDS = 2.0


def is_overdue(seconds: float | None, interval: float) -> bool:
    """Say whether a duty last performed ``seconds`` ago is late; None: it never was.

    One performed in the future is: until the clock is there again nobody would perform it.
    """
    if seconds is None or is_ahead(seconds):
        return True
    return seconds > LATE_INTERVALS * interval + LATE_SECONDS


def is_ahead(seconds: float) -> bool:
    """Say whether an age is that of an instant in the future, from before the clock's setting."""
    return seconds < -AHEAD_SECONDS
