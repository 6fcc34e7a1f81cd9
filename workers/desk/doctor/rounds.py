"""The probes as a duty: all of them, in a worker, each minute; what they find is kept.

A round is bounded: each probe has a few seconds, and once the time of all is up the rest are left
for the next round, which begins with them.  What the probes look at beyond the database (broker,
disk, settings) is seen from the worker that runs them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import inf
from time import monotonic

from workers.desk.doctor.finding import Level
from workers.desk.doctor.registry import Need, Probe, probes
from workers.desk.doctor.run import ProbeFinding, examine, worst
from workers.desk.operate import examinations
from workers.desk.store import probe_results
from workers.desk.store.probe_results import LastLook, ProbeOutcome

PROBE_SECONDS = 5.0
ROUND_SECONDS = 30.0


@examinations.register
def look_over() -> None:
    """Run the probes that are due, and keep what they find."""
    probe_results.keep(look(due([probe for probe in probes() if probe.in_rounds])))


def look(wanted: Sequence[Probe], *, seconds: float = ROUND_SECONDS) -> list[ProbeOutcome]:
    """Run probes until the time is up; return what each of those that ran has found."""
    end = monotonic() + seconds
    looks = []
    for probe in wanted:
        began = monotonic()
        if began >= end:
            break
        # The duty itself needs the tables: they are there, and need no look for every probe.
        told = list(examine([replace(probe, needs=Need.NOTHING)], seconds=PROBE_SECONDS))
        looks.append(_looked(probe, told, monotonic() - began))
    return looks


def _looked(probe: Probe, told: Iterable[ProbeFinding], seconds: float) -> ProbeOutcome:
    findings = list(told)
    return ProbeOutcome(
        name_of(probe),
        str(worst(findings) if findings else Level.OK),
        [one.finding.kept() for one in findings],
        seconds,
    )


def name_of(probe: Probe) -> str:
    return f"{probe.group}.{probe.name}"


def due(wanted: Sequence[Probe]) -> list[Probe]:
    """Return the probes that are to be run now, those whose last result is the oldest first.

    One that took long, and found nothing wrong, rests.
    """
    lasts = probe_results.last_looks()
    awake = [probe for probe in wanted if not _rests(lasts.get(name_of(probe)))]
    # Those that were never run come first; the sort keeps the order of the groups.
    return sorted(awake, key=lambda probe: -_age(lasts.get(name_of(probe))))


def _rests(last: LastLook | None) -> bool:
    if (
        last is None
        or last.seconds < examinations.COSTLY_SECONDS
        or last.level not in (Level.OK, Level.INFO)
    ):
        return False
    return 0 <= last.age_seconds < examinations.COSTLY_REST_SECONDS


def _age(last: LastLook | None) -> float:
    """Return the age of a result in whole minutes: those of one round are as old as each other."""
    return inf if last is None else last.age_seconds // 60
