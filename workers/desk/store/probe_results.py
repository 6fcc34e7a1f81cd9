"""The last results of the doctor's probes, and alerts on probes that repeat an error."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from workers.definitions.sentences import kept
from workers.definitions.sentences import say_counted as ngettext
from workers.rules.rows import AlertCall
from workers.runtime.failpoints import durable
from workers.store import alerts
from workers.store.db import dialect

#: Rounds in a row in which a probe must find an error before it raises an alert: during a
#: deployment a queue may have no reader for a moment.
ERRORS_BEFORE_ALERT = 2
#: A result older than this is deleted.
FORGOTTEN_AFTER = timedelta(days=1)
ERROR = "error"

_COLUMNS = {"name": "text", "level": "text", "findings": "json", "seconds": "float"}


@dataclass(frozen=True, slots=True)
class ProbeOutcome:
    """The result of one probe."""

    name: str
    level: str
    findings: list[dict[str, Any]] = field(default_factory=list)
    seconds: float = 0.0


def keep(looks: Sequence[ProbeOutcome], now: datetime | None = None) -> int:
    """Store the results of probes, and raise an alert on each that repeats an error.

    Return the number of those alerts.
    """
    at = dialect.read_clock(now)
    with durable("probe_results.keep"):
        _write(looks, at)
        repeated = _repeated_errors(looks)
        alerts.write([_alert(name, findings) for name, findings in repeated], at)
        dialect.execute(
            "DELETE FROM desk_proberesult WHERE looked_at < %s",
            [dialect.instant_text(at - FORGOTTEN_AFTER)],
        )
    return len(repeated)


@dataclass(frozen=True, slots=True)
class LastLook:
    """Age, duration and level of a probe's last run."""

    age_seconds: float
    seconds: float
    level: str


def last_looks(now: datetime | None = None) -> dict[str, LastLook]:
    """Return the last look of each probe that is kept, by its name."""
    at = dialect.read_clock(now)
    looks = {}
    for name, looked_at, seconds, level in dialect.fetch(
        "SELECT name, looked_at, seconds, level FROM desk_proberesult"
    ):
        last = dialect.instant(looked_at)
        assert last is not None
        looks[name] = LastLook((at - last).total_seconds(), seconds, level)
    return looks


def _write(looks: Sequence[ProbeOutcome], at: datetime) -> None:
    rows = [
        {
            "name": look.name[:100],
            "level": look.level,
            "findings": look.findings,
            "seconds": look.seconds,
        }
        for look in sorted(looks, key=lambda look: look.name)
    ]
    when, params = dialect.typed("instant", at)
    dialect.execute(
        "INSERT INTO desk_proberesult (name, level, findings, seconds, looked_at, since, errors)"
        f" SELECT name, level, findings, seconds, {when}, {when},"
        f" CASE WHEN level = '{ERROR}' THEN 1 ELSE 0 END FROM {dialect.rows_as('v', _COLUMNS)}"
        # In key order, so that two writers cannot deadlock; "WHERE true" is for SQLite's parser.
        " WHERE true ORDER BY name ON CONFLICT (name) DO UPDATE SET level = excluded.level,"
        " findings = excluded.findings, seconds = excluded.seconds,"
        " looked_at = excluded.looked_at, since = CASE WHEN desk_proberesult.level"
        " = excluded.level THEN desk_proberesult.since ELSE excluded.since END,"
        f" errors = CASE WHEN excluded.level = '{ERROR}' THEN desk_proberesult.errors + 1"
        " ELSE 0 END",
        [*params, *params, dialect.encode(rows)],
    )


def _repeated_errors(looks: Sequence[ProbeOutcome]) -> list[tuple[str, list[dict[str, Any]]]]:
    errors = {look.name[:100]: look.findings for look in looks if look.level == ERROR}
    rows = dialect.fetch(
        "SELECT name FROM desk_proberesult WHERE errors >= %s ORDER BY name",
        [ERRORS_BEFORE_ALERT],
    )
    return [(name, errors[name]) for (name,) in rows if name in errors]


def _alert(name: str, findings: Sequence[dict[str, Any]]) -> AlertCall:
    errors = [finding for finding in findings if finding["level"] == ERROR] or [{"what": name}]
    first, *others = errors
    what, remedy = first["what"], first.get("remedy", "")
    if others:
        # The remedy of the first does not mend the others.
        what, remedy = _with_others(what, len(others)), ""
    params = {
        "says": ["found"],
        "probe": name,
        "finding": what,
        "why": first.get("why", ""),
        "remedy": remedy,
    }
    return AlertCall(f"probe_failed:{name}", "probe_failed", params, is_counted=False)


def _with_others(first: Any, count: int) -> dict[str, Any] | str:
    return kept(
        ngettext(
            "%(first)s, and %(n)d more error",
            "%(first)s, and %(n)d more errors",
            count,
            first=first,
        )
    )
