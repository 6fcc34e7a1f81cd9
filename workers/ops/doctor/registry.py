"""The registered probes: every installed app has its own in a module ``doctor``."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Flag, IntEnum, auto

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


class When(Flag):
    """Occasions on which a probe looks."""

    #: `manage.py check`; `migrate`, too, if the probe needs the database and no tables.
    START = auto()
    #: `manage.py check --deploy`.
    DEPLOY = auto()
    #: `manage.py sas doctor`.
    ASK = auto()
    #: Each minute, in a worker.
    MINUTE = auto()


#: Whenever the installation is examined.
EXAMINED = When.ASK | When.MINUTE


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
    when: When = EXAMINED


_probes: dict[tuple[str, str], Probe] = {}


def probe(
    group: str,
    *,
    needs: Need = Need.TABLES,
    applies: Callable[[], bool] = _always,
    when: When = EXAMINED,
) -> Callable[[Look], Look]:
    """Make a function a probe of a group; a decorator.

    The function takes nothing, changes nothing and returns findings.  It may raise and it
    may hang: both are reported, and the other probes go on.  While ``applies``, which reads
    settings only, is False, the probe does not exist: to say that Redis is in order where there
    is none would mislead.  ``when`` says on which occasions it looks; on those of system checks
    the findings that name a ``check`` are told, of this package's probes alone.
    """

    def register(look: Look) -> Look:
        name: str = getattr(look, "__name__", "probe")
        _probes[(group, name)] = Probe(group, name, look, needs, applies, when)
        return look

    return register


def discover() -> None:
    """Import the module ``doctor`` of every installed app."""
    discovery.import_modules("doctor")


def probes(when: When = When.ASK) -> list[Probe]:
    """Return every probe of every installed app that applies here and looks then, by group."""
    discover()
    return registered(when)


def registered(when: When) -> list[Probe]:
    """Return the same of the apps whose probes have been imported."""
    applicable = [probe for probe in _probes.values() if when in probe.when and probe.applies()]
    return sorted(applicable, key=lambda probe: _rank(probe.group))


def _rank(group: str) -> int:
    return GROUPS.index(group) if group in GROUPS else len(GROUPS)
