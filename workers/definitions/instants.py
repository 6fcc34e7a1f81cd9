"""The instants at which a schedule fires, from a cron line or an interval.  Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from workers.exceptions import WorkflowError

#: Intervals are counted from here, so that no restart moves them.
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Timing:
    """A cron line in a time zone, or an interval; checked by ``check``."""

    cron: str
    every: timedelta | None
    time_zone: str

    def after(self, at: datetime) -> Iterator[datetime]:
        """Yield the instants after ``at``, in UTC, each later than the one before.

        A cron line follows the local clock as Debian's cron does.  One at fixed times of the day
        fires at the next instant that exists if the clock leaves its time out, and the first time
        if the clock shows its time twice; one with ``*`` as minute or hour fires whenever the clock
        shows a time of it.
        """
        if self.every is not None:
            for number in count((at - EPOCH) // self.every + 1):
                yield EPOCH + number * self.every
        for local in CronSim(self.cron, at.astimezone(ZoneInfo(self.time_zone))):
            # Within an hour that the clock shows twice, a fixed time may lie before ``at``.
            if (instant := local.astimezone(UTC)) > at:
                yield instant
                at = instant

    def local(self, at: datetime) -> datetime:
        """Return an instant in the time zone."""
        return at.astimezone(ZoneInfo(self.time_zone))


def check(where: str, timing: Timing) -> None:
    """Raise ``WorkflowError`` for a time zone or a cron line that does not exist."""
    try:
        ZoneInfo(timing.time_zone)
    except (ValueError, KeyError, OSError, TypeError):
        raise WorkflowError(
            f"{where}: time_zone must be the name of a time zone, got {timing.time_zone!r}."
            ' Write it as "Europe/Paris"; where none is known, install tzdata.'
        ) from None
    if timing.every is not None:
        return
    problem = "it has other than five fields"
    try:
        if len(timing.cron.split()) == 5:
            CronSim(timing.cron, EPOCH)
            return
    except CronSimError as error:
        problem = str(error)
    raise WorkflowError(
        f"{where}: cron must be minute, hour, day of month, month and day of week, got"
        f' {timing.cron!r}: {problem}. Write "0 6 * * *" for 6 o\'clock each day.'
    )
