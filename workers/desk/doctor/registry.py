"""The probes there are: every installed app names its own in a module ``doctor``."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import IntEnum

from workers.definitions import discovery
from workers.desk.doctor.finding import Finding

Look = Callable[[], Iterable[Finding]]
#: The order in which groups are looked at and told of; others come after them.
GROUPS = (
    *("database", "migrations", "settings", "broker", "queues", "workers", "duties"),
    *("agents", "backlog", "alerts", "routes", "submitters", "tables", "files", "shop"),
)


class Need(IntEnum):
    """What must be there before a probe can look; what needs more is left out without it."""

    NOTHING = 0
    DATABASE = 1
    TABLES = 2


def _always() -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Probe:
    """Looks at one thing."""

    group: str
    name: str
    look: Look
    needs: Need
    #: Whether there is such a thing at this installation.
    applies: Callable[[], bool] = _always
    #: Whether a worker looks at it each minute, too.
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
    may hang: both are told of, and the other probes go on.  Where ``applies``, which reads
    settings only, is False it is no probe: to say that Redis is in order where there is none
    would mislead.  Without ``in_rounds`` only who asks for it has it looked at: what is true of
    another process than a worker.
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
    known = [one for one in _probes.values() if one.applies()]
    return sorted(known, key=lambda one: _place(one.group))


def _place(group: str) -> int:
    return GROUPS.index(group) if group in GROUPS else len(GROUPS)
