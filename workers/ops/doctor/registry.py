"""The registered probes: every installed app has its own in a module ``doctor``."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import IntEnum

from workers.definitions import discovery
from workers.ops.doctor.finding import Finding

Look = Callable[[], Iterable[Finding]]
#: The order in which groups are run and shown; other groups come after them.
GROUPS = (
    *("database", "migrations", "settings", "broker", "queues", "workers", "duties"),
    *("agents", "backlog", "alerts", "routes", "submitters", "tables", "files", "shop"),
)


class Need(IntEnum):
    """What a probe needs to run; without it the probe is left out."""

    NOTHING = 0
    DATABASE = 1
    TABLES = 2


def _always() -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Probe:
    """One check of the doctor."""

    group: str
    name: str
    look: Look
    needs: Need
    #: Whether this installation has what the probe looks at.
    applies: Callable[[], bool] = _always
    #: Whether a worker runs it each minute, too.
    in_rounds: bool = True


_probes: dict[tuple[str, str], Probe] = {}


def probe(
    group: str,
    *,
    needs: Need = Need.TABLES,
    applies: Callable[[], bool] = _always,
    in_rounds: bool = True,
) -> Callable[[Look], Look]:
    """Make a function a probe of a group; a decorator.

    The function takes nothing, changes nothing and returns findings.  It may raise and it
    may hang: both are reported, and the other probes go on.  While ``applies``, which reads
    settings only, is False, the probe does not exist: to say that Redis is in order where there
    is none would mislead.  Without ``in_rounds`` it runs on request only: for what a worker
    cannot judge of another process.
    """

    def register(look: Look) -> Look:
        name: str = getattr(look, "__name__", "probe")
        _probes[(group, name)] = Probe(group, name, look, needs, applies, in_rounds)
        return look

    return register


def discover() -> None:
    """Import the module ``doctor`` of every installed app."""
    discovery.import_modules("doctor")


def probes() -> list[Probe]:
    """Return every probe of every installed app that applies here, by group."""
    discover()
    applicable = [probe for probe in _probes.values() if probe.applies()]
    return sorted(applicable, key=lambda probe: _rank(probe.group))


def _rank(group: str) -> int:
    return GROUPS.index(group) if group in GROUPS else len(GROUPS)
