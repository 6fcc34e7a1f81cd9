"""Kill at every point; heal; count.

By default each point of a scenario is tried once, the first time it is reached.  With
``CRASHES=full`` (``make crashes``) it is tried every time, with both fates of the messages.
"""

import os
import time
from concurrent.futures import ALL_COMPLETED

import pytest

from tests.crashes import children, ending, forward, keyed, limits, mishaps, room, scheduled
from tests.crashes.everything import SCENARIOS
from tests.crashes.report import Report
from tests.guard.failpoints import stops
from workers.desk.notify import incident_relay
from workers.notify import relay

pytestmark = pytest.mark.django_db(transaction=True)
#: What no short run leaves out; people's verbs and the shop's doors are many of a kind.
OF_THE_ENGINE = [
    *(*forward.SCENARIOS, *mishaps.SCENARIOS, *ending.SCENARIOS),
    *(*room.SCENARIOS, *keyed.SCENARIOS, *children.SCENARIOS, *scheduled.SCENARIOS),
    *limits.SCENARIOS,
]
IS_FULL = os.environ.get("CRASHES") == "full"


@pytest.fixture(autouse=True)
def _one_course_of_events(monkeypatch) -> None:
    """Have relays land all that they sent before they claim again.

    Else threads decide how often one claims, and a time that the rehearsal counted may not come.
    """
    for module in (incident_relay, relay):
        monkeypatch.setattr(module, "FIRST_COMPLETED", ALL_COMPLETED)
        monkeypatch.setattr(module, "LOOK_SECONDS", None)


@pytest.mark.parametrize(
    "scenario",
    [
        pytest.param(scenario, marks=() if scenario in OF_THE_ENGINE else pytest.mark.volume)
        for scenario in SCENARIOS
    ],
    ids=lambda scenario: scenario.name,
)
def test_whatever_dies_heals(scenario):
    report = Report.of_environment()
    began = time.monotonic()
    options = {} if IS_FULL else {"most_hits": 1, "both_fates": False, "points": scenario.brief}

    survey = scenario.crash(
        progress=lambda done, total: report.progress(scenario.name, done, total), **options
    )

    assert survey.crashes
    seconds = time.monotonic() - began
    report.done(scenario.name, survey.points, len(survey.crashes), seconds)


def test_every_point_of_the_code_is_reached():
    """A new point without a scenario that reaches it fails here: give it one."""
    reached = {scenario.name: set(scenario.rehearse().hits) for scenario in SCENARIOS}
    everywhere = set().union(*reached.values())

    assert sorted(stops() - everywhere) == []

    # The short run tries all of them as well, somewhere.
    tried: set[str] = set()
    for scenario in SCENARIOS:
        brief = scenario.brief
        assert set(brief or ()) <= {_name(stop) for stop in reached[scenario.name]}
        tried |= {stop for stop in reached[scenario.name] if brief is None or _name(stop) in brief}
    assert sorted(everywhere - tried) == []


def _name(stop: str) -> str:
    return stop.rpartition(":")[0]
