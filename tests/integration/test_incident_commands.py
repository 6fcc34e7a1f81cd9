"""Operators take, assign, snooze, resolve and note incidents; whoever is late changes nothing."""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.utils import timezone

from tests.factories import AlertFactory
from tests.programs import said
from workers.desk.models import Incident, Note
from workers.desk.store import incident_commands as commands
from workers.desk.store import incidents, notes
from workers.exceptions import StateError
from workers.models import Alert, Flow, Journal

NOW = timezone.now()
HOUR = timedelta(hours=1)
ACTOR = "operator:ann"


def alert(agent: str = "a.b", **columns: Any) -> Alert:
    return AlertFactory(
        cause=f"breaker_open:agent:{agent}",
        code="breaker_open",
        message="not reached",
        raised_at=NOW,
        **columns,
    )


@pytest.fixture
def incident() -> Incident:
    alert()
    incidents.collect(NOW)
    return Incident.objects.get()


@pytest.fixture
def ann() -> int:
    return int(get_user_model().objects.create(username="ann").pk)


def rows() -> list[Any]:
    return [
        list(model.objects.order_by("pk").values()) for model in (Incident, Note, Alert, Journal)
    ]


def last_event() -> tuple[str, str, dict[str, Any]]:
    row = Journal.objects.get()
    assert row.process_id is None
    return row.event, row.actor, row.detail


def test_taking_one_acknowledges_its_alerts(incident, ann):
    before = alert("a.b", acknowledged_at=NOW - HOUR, comment="mine", group_id=incident.pk)
    other = alert("a.c")
    assert commands.acknowledge(incident.pk, ann, actor=ACTOR, comment="on it", now=NOW)
    incident.refresh_from_db()
    assert (incident.state, incident.assignee_id) == ("acknowledged", ann)
    mine = Alert.objects.get(cause="breaker_open:agent:a.b", comment="on it")
    assert (mine.acknowledged_at, mine.acknowledged_by_id, mine.resolved_at) == (NOW, ann, None)
    before.refresh_from_db()
    other.refresh_from_db()
    assert (before.comment, other.acknowledged_at) == ("mine", None)
    detail = {"incident": incident.key, "id": incident.pk, "reason": "on it"}
    assert last_event() == ("incident_taken", ACTOR, detail)


def test_one_that_is_put_off_can_be_taken(incident, ann):
    commands.snooze(incident.pk, NOW + HOUR, actor=ACTOR, now=NOW)
    assert commands.acknowledge(incident.pk, ann, actor=ACTOR, now=NOW)
    incident.refresh_from_db()
    assert (incident.state, incident.snooze_until) == ("acknowledged", None)


def test_assigning_says_whose_it_is_and_was(incident, ann):
    assert commands.assign(incident.pk, ann, actor=ACTOR, reason="your shift", now=NOW)
    incident.refresh_from_db()
    assert (incident.state, incident.assignee_id) == ("open", ann)
    event, _, detail = last_event()
    assert (event, detail["assignee"], detail["reason"]) == (
        "incident_assigned",
        [None, ann],
        "your shift",
    )
    assert commands.assign(incident.pk, None, actor=ACTOR, now=NOW)
    incident.refresh_from_db()
    assert incident.assignee_id is None


def test_snoozing_puts_it_off(incident):
    assert commands.snooze(incident.pk, NOW + HOUR, actor=ACTOR, reason="at ten", now=NOW)
    incident.refresh_from_db()
    assert (incident.state, incident.snooze_until) == ("snoozed", NOW + HOUR)
    assert last_event()[0] == "incident_snoozed"


@pytest.mark.parametrize("wait", [timedelta(0), -HOUR, commands.LONGEST_SNOOZE + HOUR])
def test_a_snooze_ends_later_and_not_too_late(incident, wait):
    before = rows()
    with pytest.raises(StateError, match="within 30 days from now"):
        commands.snooze(incident.pk, NOW + wait, actor=ACTOR, now=NOW)
    assert rows() == before


def test_resolving_by_hand_closes_its_alerts_and_what_is_raised_again_reopens_it(incident, ann):
    assert commands.resolve(incident.pk, ann, actor=ACTOR, reason="known", now=NOW)
    incident.refresh_from_db()
    assert (incident.state, incident.resolved_at) == ("resolved", NOW)
    assert Alert.objects.get().comment == "known"
    assert incidents.refresh(NOW) == 0
    alert()
    incidents.collect(NOW + timedelta(minutes=9))
    incident.refresh_from_db()
    assert (incident.state, incident.members, incident.reopened) == ("open", 1, 1)


def test_a_note_is_kept_with_its_author(incident, ann):
    assert notes.write_on_incident(incident.pk, ann, "They know.", actor=ACTOR, now=NOW)
    note = Note.objects.get()
    assert (note.incident, note.author_id, note.text, note.at) == (incident, ann, "They know.", NOW)
    assert last_event()[0] == "incident_noted"


@pytest.mark.parametrize("text", ["", "x" * (notes.LONGEST_NOTE + 1)])
def test_a_note_must_say_something_and_not_too_much(incident, ann, text):
    with pytest.raises(StateError, match="1 to 5000 characters"):
        notes.write_on_incident(incident.pk, ann, text, actor=ACTOR, now=NOW)
    assert not Note.objects.exists()


LATE: list[Callable[[int, int], bool]] = [
    lambda pk, user: commands.acknowledge(pk, user, actor=ACTOR, now=NOW),
    lambda pk, user: commands.assign(pk, user, actor=ACTOR, now=NOW),
    lambda pk, user: commands.snooze(pk, NOW + HOUR, actor=ACTOR, now=NOW),
    lambda pk, user: commands.resolve(pk, user, actor=ACTOR, now=NOW),
]


@pytest.mark.parametrize("act", LATE)
def test_late_act_on_resolved_or_missing_incident_changes_nothing(incident, ann, act):
    commands.resolve(incident.pk, ann, actor=ACTOR, now=NOW)
    before = rows()
    assert act(incident.pk, ann) is False
    assert act(incident.pk + 1, ann) is False
    assert rows() == before


@pytest.mark.parametrize("act", LATE[:2])
def test_of_two_clicks_one_does_something(incident, ann, act):
    assert act(incident.pk, ann) is True
    before = rows()
    assert act(incident.pk, ann) is False
    assert rows() == before


def listed(*options: str) -> str:
    return said("sas", "incidents", *options)


def test_the_command_lists_open_ones_for_programs(incident, ann):
    Flow.objects.create(
        agent="a.b", window=1, opened_at=NOW - HOUR, open_until=timezone.now() + HOUR
    )
    alert("a.c")
    incidents.collect(NOW)
    commands.resolve(Incident.objects.get(params__about="a.c").pk, ann, actor=ACTOR)
    (only,) = json.loads(listed("--json"))["incidents"]
    assert only["next"].startswith("probe in 3")
    assert {**only, "next": ""} == {
        "key": incident.key,
        "kind": "agent",
        "title": "The service of agent a.b cannot be reached",
        "message": None,
        "state": "open",
        "members": 1,
        "since": NOW.isoformat(),
        "next": "",
    }


def test_the_command_lists_open_ones_for_people(incident):
    text = listed()
    assert "The service of agent a.b cannot be reached" in text
    assert text.endswith("1 incident.\n")
    Incident.objects.update(state="resolved", resolved_at=NOW)
    assert listed() == "0 incidents.\n"
    assert json.loads(listed("--json")) == {"incidents": []}


def test_the_gravest_come_first_and_those_put_off_last():
    for name, columns in {
        "asleep": {"severity": 1, "state": "snoozed", "snooze_until": NOW + HOUR},
        "asleep longer": {"severity": 1, "state": "snoozed", "snooze_until": NOW + 2 * HOUR},
        "later": {"severity": 1, "opened_at": NOW},
        "error": {"severity": 2},
        "urgent": {"severity": 1},
    }.items():
        known = {"code": "x", "opened_at": NOW - HOUR, "last_at": NOW}
        Incident.objects.create(key=name, **known | columns)
    keys = [one["key"] for one in json.loads(listed("--json"))["incidents"]]
    assert keys == ["urgent", "later", "error", "asleep", "asleep longer"]
