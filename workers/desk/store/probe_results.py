"""What the doctor's probes found last, and alerts about those that find an error again."""

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

#: Rounds in a row in which a probe has to find an error before somebody is told: during a
#: deployment a queue may have no reader for a moment.
ERRORS_BEFORE_ALERT = 2
#: A probe that nobody has run for so long is none any more.
FORGOTTEN_AFTER = timedelta(days=1)
ERROR = "error"

_COLUMNS = {"name": "text", "level": "text", "findings": "json", "seconds": "float"}


@dataclass(frozen=True, slots=True)
class ProbeOutcome:
    """What one probe has found."""

    name: str
    level: str
    findings: list[dict[str, Any]] = field(default_factory=list)
    seconds: float = 0.0


def keep(looks: Sequence[ProbeOutcome], now: datetime | None = None) -> int:
    """Keep what probes found, and raise an alert of each that errs again; return how many."""
    at = dialect.read_clock(now)
    with durable("probe_results.keep"):
        _write(looks, at)
        erring = _erring(looks)
        alerts.write([_alert(name, findings) for name, findings in erring], at)
        dialect.execute(
            "DELETE FROM desk_proberesult WHERE looked_at < %s",
            [dialect.instant_text(at - FORGOTTEN_AFTER)],
        )
    return len(erring)


@dataclass(frozen=True, slots=True)
class LastLook:
    """How long ago a probe was last run, how long it took, and what came of it."""

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
        # In the order of the key, so that two do not wait in a circle; and true for SQLite's sake.
        " WHERE true ORDER BY name ON CONFLICT (name) DO UPDATE SET level = excluded.level,"
        " findings = excluded.findings, seconds = excluded.seconds,"
        " looked_at = excluded.looked_at, since = CASE WHEN desk_proberesult.level"
        " = excluded.level THEN desk_proberesult.since ELSE excluded.since END,"
        f" errors = CASE WHEN excluded.level = '{ERROR}' THEN desk_proberesult.errors + 1"
        " ELSE 0 END",
        [*params, *params, dialect.encode(rows)],
    )


def _erring(looks: Sequence[ProbeOutcome]) -> list[tuple[str, list[dict[str, Any]]]]:
    errors = {look.name[:100]: look.findings for look in looks if look.level == ERROR}
    known = dialect.fetch(
        "SELECT name FROM desk_proberesult WHERE errors >= %s ORDER BY name",
        [ERRORS_BEFORE_ALERT],
    )
    return [(name, errors[name]) for (name,) in known if name in errors]


def _alert(name: str, findings: Sequence[dict[str, Any]]) -> AlertCall:
    errors = [finding for finding in findings if finding["level"] == ERROR] or [{"what": name}]
    found, *others = errors
    what, remedy = found["what"], found.get("remedy", "")
    if others:
        # What mends the first leaves the others as they are.
        what, remedy = _with_others(what, len(others)), ""
    params = {
        "says": ["found"],
        "probe": name,
        "finding": what,
        "why": found.get("why", ""),
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
