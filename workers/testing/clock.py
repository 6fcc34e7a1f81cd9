"""Time under control of the test: a clock that stands still until the test moves it."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

from django.db.models import F

from workers.models import Process, Step
from workers.store.db import dialect


class Clock:
    """The database's clock, standing still; every deadline, backoff, lease and poll follows it.

    Moving it does nothing else: nothing sweeps or polls in between, as in an outage.  For
    time that passes while the system runs use ``Wire.run_for`` or
    ``Wire.run_until_settled``.  A call's ``Deadline`` does not follow: it is on the
    monotonic clock of one process.
    """

    def __init__(self, at: datetime) -> None:
        self._now = _to_utc(at)
        self._is_over = False

    @property
    def now(self) -> datetime:
        return self._now

    def advance(self, **duration: float) -> datetime:
        """Move on by ``seconds``, ``minutes``, ``hours``, ``days``; return the new instant."""
        return self.travel_to(self._now + timedelta(**duration))

    def travel_to(self, instant: datetime) -> datetime:
        """Move on to an instant; raise ``ValueError`` for one that lies in the past."""
        if _to_utc(instant) < self._now:
            raise ValueError(f"It is {self._now} already: time does not go back to {instant}.")
        if self._is_over:
            raise ValueError("The block of this frozen clock is over.")
        dialect.frozen_at = self._now = instant.astimezone(UTC)
        return self._now

    def seconds(self) -> float:
        """Return the current instant in seconds."""
        return self._now.timestamp()

    def stop(self) -> None:
        """Refuse to move from now on."""
        self._is_over = True


@contextmanager
def frozen_clock(at: datetime | None = None) -> Iterator[Clock]:
    """Stop the database's clock for a block, at an instant or at the next second."""
    # A whole second in the future: rows from before the block are due, and SQLite adds durations
    # in milliseconds.
    clock = Clock(at or datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=1))
    before, dialect.frozen_at = dialect.frozen_at, clock.now
    try:
        yield clock
    finally:
        clock.stop()
        dialect.frozen_at = before


def pass_time(seconds: float, process: Process | None = None) -> None:
    """Let time pass for the steps of one process, or of all: move their instants back.

    Leaves the clock alone, and with it leases, breakers and everything else.
    """
    steps = Step.objects.all() if process is None else Step.objects.filter(process=process)
    names = [
        *("not_before", "started_at", "complete_by"),
        *("escalate_at", "began_at", "key_used_at"),
    ]
    for step in steps:
        instants = {
            name: getattr(step, name) - timedelta(seconds=seconds)
            for name in names
            if getattr(step, name) is not None
        }
        Step.objects.filter(pk=step.pk).update(**instants)
    processes = Process.objects.exclude(deadline_at=None)
    processes = processes if process is None else processes.filter(pk=process.pk)
    processes.update(deadline_at=F("deadline_at") - timedelta(seconds=seconds))


def forget_duties() -> None:
    """Make every periodic duty due again."""
    dialect.execute("DELETE FROM workers_lease")


def _to_utc(instant: datetime) -> datetime:
    if instant.tzinfo is None:
        raise ValueError(f"{instant} has no time zone. Give an aware instant.")
    return instant.astimezone(UTC)
