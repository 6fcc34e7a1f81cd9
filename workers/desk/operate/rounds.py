"""The probes as a duty: all of them, in a worker, each minute; their results are stored.

A round is bounded: each probe has a few seconds, and once the round's time is up the rest are left
to the next round, which begins with them.  Anything beyond the database (broker, disk, settings) is
seen from the worker that runs the round.
"""

from collections.abc import Sequence
from dataclasses import replace
from math import inf
from time import monotonic

from workers.desk.operate import examinations
from workers.desk.store import probe_results
from workers.desk.store.probe_results import LastLook, ProbeOutcome
from workers.ops.doctor.finding import Level
from workers.ops.doctor.registry import Need, Probe, When, probes
from workers.ops.doctor.run import ProbeFinding, examine, worst

PROBE_SECONDS = 5.0
ROUND_SECONDS = 30.0


def look_over() -> None:
    """Run the probes that are due, and store their results."""
    probe_results.keep(look(due(probes(When.MINUTE))))


def look(batch: Sequence[Probe], *, seconds: float = ROUND_SECONDS) -> list[ProbeOutcome]:
    """Run probes until the time is up; return the results of those that ran."""
    end = monotonic() + seconds
    outcomes = []
    for probe in batch:
        began = monotonic()
        if began >= end:
            break
        # The duty itself needs the tables, so they need no check for every probe.
        findings = list(examine([replace(probe, needs=Need.NOTHING)], seconds=PROBE_SECONDS))
        outcomes.append(_outcome(probe, findings, monotonic() - began))
    return outcomes


def _outcome(probe: Probe, findings: Sequence[ProbeFinding], seconds: float) -> ProbeOutcome:
    return ProbeOutcome(
        name_of(probe),
        str(worst(findings) if findings else Level.OK),
        [row.finding.kept() for row in findings],
        seconds,
    )


def name_of(probe: Probe) -> str:
    return f"{probe.group}.{probe.name}"


def due(candidates: Sequence[Probe]) -> list[Probe]:
    """Return the probes to run now, the one with the oldest result first.

    A probe that took long, and found nothing wrong, rests.
    """
    lasts = probe_results.last_looks()
    awake = [probe for probe in candidates if not _rests(lasts.get(name_of(probe)))]
    # Probes that never ran come first; the sort keeps the order of the groups.
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
    """Return the age of a result in whole minutes: results of one round have the same age."""
    return inf if last is None else last.age_seconds // 60
