"""Another installation's messages, and a database that moved: dying over them is safe."""

from unittest.mock import patch

from kombu import Connection

from tests.crashes.scenario import Scenario, nothing
from workers.models import Alert, Hold, Installation
from workers.store import installation
from workers.store.operate import lost_commits
from workers.store.operate.lost_commits import Place
from workers.testing import Aftermath, Wire
from workers.wire import installation as own_installation
from workers.wire import neighbours, publisher

BEFORE, AFTER = (Place("1:2", timeline, is_synchronous=False) for timeline in (3, 4))
MOVED = Place("2:2", 4, is_synchronous=False)
THEIRS = "3e0b3ab6-2f0e-4a0c-8a1e-5f1f4f1b7f10"


def _meet() -> None:
    installation.ensure()
    neighbours._owners.told_at.clear()
    with patch.object(publisher, "publish"), patch.object(neighbours.time, "sleep"):
        neighbours.pass_on(THEIRS, "workers.advance", [], "sas.scheduler", hops=0, limits={})
    with Connection("memory://") as connection:
        own_installation.exchange(connection)


def _known_once(after: Aftermath) -> None:
    assert Installation.objects.count() == 1
    assert Alert.objects.filter(code="foreign_messages").count() == 1


def _look(place: Place) -> None:
    with patch.object(lost_commits, "_current_place", lambda: place):
        lost_commits.look()


def _before(wire: Wire) -> None:
    installation.ensure()
    _look(BEFORE)


def _held_once(after: Aftermath) -> None:
    assert Hold.objects.filter(ended_at=None).count() == 1
    assert Alert.objects.filter(code="commits_lost").count() == 1
    assert Installation.objects.get().timeline == AFTER.timeline


def _before_it_was_restored(wire: Wire) -> None:
    _before(wire)
    _look(AFTER)


def _accept() -> None:
    with patch.object(lost_commits, "_current_place", lambda: MOVED):
        lost_commits.accept("ada", "restored")


def _accepted(after: Aftermath) -> None:
    assert not Hold.objects.filter(ended_at=None).exists()
    assert Installation.objects.get().place == MOVED.place


SCENARIOS = [
    Scenario(
        "commits are lost",
        lambda: _look(AFTER),
        _held_once,
        prepare=_before,
        run=nothing,
        brief=("lost_commits.look",),
    ),
    Scenario(
        "accept a restored database",
        _accept,
        _accepted,
        prepare=_before_it_was_restored,
        run=nothing,
        brief=("lost_commits.accept",),
    ),
    Scenario(
        "meet a neighbour",
        _meet,
        _known_once,
        run=nothing,
        brief=("installation.exchange", "installation.ensure", "neighbours.pass_on"),
    ),
]
