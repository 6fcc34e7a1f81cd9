"""Runs the probes: each within its time, whatever it raises."""

import os
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from django.db import connection, connections

from workers.checks import tables
from workers.definitions.sentences import changed
from workers.definitions.sentences import say as _
from workers.definitions.sentences import say_counted as ngettext
from workers.exceptions import NOT_PERMITTED, first_line, in_a_line, sqlstate
from workers.ops.doctor.finding import Finding, Level, error, info, warning
from workers.ops.doctor.registry import Look, Need, Probe
from workers.ops.doctor.secrets import masked

#: Time limit of one probe; then its thread is left behind, and ends with the process.
PROBE_SECONDS = 10.0
#: The most by which a busy machine extends it: a probe that waits for a processor is not stuck.
MOST_STRETCH = 4.0
#: Processes per processor, from which on a probe's timeout proves nothing.
CROWDED = 1.5


@dataclass(frozen=True, slots=True)
class ProbeFinding:
    """A finding, and the probe it comes from."""

    group: str
    probe: str
    finding: Finding


def examine(probes: Iterable[Probe], *, seconds: float = PROBE_SECONDS) -> Iterator[ProbeFinding]:
    """Yield the findings of each probe, in order; a probe whose need is not met is left out."""
    left_out: dict[str, int] = {}
    missing: dict[Need, str] = {}
    for probe in probes:
        if lack := _lack(probe.needs, missing, seconds):
            left_out[lack] = left_out.get(lack, 0) + 1
            continue
        findings, problem = _run(probe.look, seconds)
        if problem:
            findings = [
                error(
                    _("the probe %(name)s %(problem)s", name=probe.name, problem=problem),
                    _("What it checks is unknown."),
                    _("Check it by hand; if it is in order, report this as a bug of the doctor."),
                )
            ]
        for finding in findings:
            yield ProbeFinding(probe.group, probe.name, _storable(finding))
    for lack, count in left_out.items():
        yield ProbeFinding(
            "doctor",
            "left_out",
            error(
                ngettext(
                    "%(n)d probe was left out: %(lack)s",
                    "%(n)d probes were left out: %(lack)s",
                    count,
                    lack=lack,
                ),
                _("What they check is unknown."),
                _("Fix that, and run the doctor again."),
            ),
        )


def _lack(needs: Need, missing: dict[Need, str], seconds: float) -> str:
    """Return which need of a probe is not met; empty: none.  Each need is checked once."""
    for need, look, problem in (
        (Need.DATABASE, _touch_database, _("the database does not answer")),
        (Need.TABLES, _touch_tables, _("migrations are not applied")),
    ):
        if needs < need:
            return ""
        if need not in missing:
            missing[need] = problem if _run(look, seconds)[1] else ""
        if missing[need]:
            return missing[need]
    return ""


def _touch_database() -> list[Finding]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return []


def _touch_tables() -> list[Finding]:
    if tables.unapplied():
        raise LookupError
    return []


def _storable(finding: Finding) -> Finding:
    """Return a finding masked, so that it can be stored; else an error of its probe."""
    try:
        level, texts = Level(finding.level), finding.texts.values()
        return Finding(level, *(changed(text, masked) for text in texts))
    except Exception as failure:  # noqa: BLE001 (a probe may be an application's)
        return error(
            _("a finding cannot be shown: %(failure)s", failure=in_a_line(failure, 300)),
            _("What it says is unknown."),
            _(
                "Have the probe return Finding values with texts. Report this as a bug of the"
                " probe."
            ),
        )


def _run(look: Look, seconds: float) -> tuple[list[Finding], str]:
    """Run a probe in a thread; return its findings, or how it failed."""
    findings: list[Finding] = []
    problems: list[str] = []

    def go() -> None:
        try:
            findings.extend(look())
        except (Exception, SystemExit) as failure:  # noqa: BLE001 (any failure is a finding)
            if sqlstate(failure) == NOT_PERMITTED:
                findings.append(_missing_permission(failure))
                return
            problems.append(_("failed: %(failure)s", failure=in_a_line(failure, 300)))
        finally:
            connections.close_all()

    crowd = crowding()
    limit = round(seconds * min(crowd, MOST_STRETCH), 2)
    thread = threading.Thread(target=go, name="probe", daemon=True)
    thread.start()
    thread.join(limit)
    if thread.is_alive():
        return _timeout_result(limit, max(crowd, crowding()))
    return findings, problems[0] if problems else ""


def crowding() -> float:
    """Return how many processes compete for each processor just now; 1 at least."""
    try:
        load = os.getloadavg()[0]
    except OSError:
        return 1.0
    return max(1.0, load / (os.cpu_count() or 1))


def _timeout_result(seconds: float, crowd: float) -> tuple[list[Finding], str]:
    """Return the result of a probe that has not ended in time: no error on a crowded machine."""
    if crowd < CROWDED:
        return [], _("has not ended within %(seconds)g s", seconds=seconds)
    slow = warning(
        _(
            "nothing was found within %(seconds)g s: %(n)d processes want each processor of this"
            " machine",
            seconds=seconds,
            n=round(crowd),
        ),
        _("What this probe checks is unknown."),
        _("Run `manage.py sas doctor` again when the machine is less busy."),
    )
    return [slow], ""


def _missing_permission(failure: BaseException) -> Finding:
    return info(
        _("this login lacks the rights to check: %(failure)s", failure=first_line(failure)),
        _("It may still have all the rights its role needs."),
        _(
            'Run this with a login that has them: see "Limit what processes may do" in the'
            " documentation."
        ),
    )


def worst(findings: Iterable[ProbeFinding]) -> Level:
    """Return the worst level among findings."""
    levels = (row.finding.level for row in findings)
    return max(levels, key=lambda level: level.rank, default=Level.OK)
