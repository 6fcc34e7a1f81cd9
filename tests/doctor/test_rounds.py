"""The doctor as a duty: what probes find is kept, and told of where they find it again."""

from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any

import pytest

from tests.integration.conftest import NOW
from workers.definitions.sentences import in_words
from workers.definitions.sentences import say as _
from workers.desk.models import Incident, ProbeResult
from workers.desk.operate import examinations, rounds
from workers.desk.store import incidents, probe_results
from workers.desk.store.probe_results import ProbeOutcome
from workers.desk.texts import alert_texts
from workers.models import Alert
from workers.ops import doctor
from workers.ops.doctor import Finding, Need, error, ok, warning
from workers.ops.doctor.registry import Probe
from workers.store import alert_resolution, leases
from workers.testing import frozen_clock

pytestmark = pytest.mark.django_db


def probe(look: Callable[[], Iterable[Finding]], name: str = "press") -> Probe:
    return Probe("shop", name, look, Need.TABLES)


def failing(what: str = "no paper") -> list[ProbeOutcome]:
    return [ProbeOutcome("shop.press", "error", [error(what, "It waits.", "Bring paper.").kept()])]


WELL = [ProbeOutcome("shop.press", "ok", [ok("there is paper").kept()])]


def test_what_a_probe_finds_is_kept_with_its_time():
    looks = rounds.look([probe(lambda: [ok("fine"), error("bad", "why", "do")])])

    probe_results.keep(looks, NOW)

    kept = ProbeResult.objects.get()
    assert (kept.name, kept.level, kept.looked_at, kept.since) == ("shop.press", "error", NOW, NOW)
    assert [finding["what"] for finding in kept.findings] == ["fine", "bad"]
    assert kept.findings[1]["remedy"] == "do"


def test_a_probe_that_says_nothing_is_well():
    (look,) = rounds.look([probe(list)])
    assert (look.level, look.findings) == ("ok", [])


def test_a_probe_that_raises_is_an_error():
    def broken() -> list[Finding]:
        raise ZeroDivisionError

    (look,) = rounds.look([probe(broken)])
    assert look.level == "error"
    assert "failed: ZeroDivisionError" in in_words(look.findings[0]["what"])


def test_a_login_that_may_not_look_is_no_error():
    class NotAllowed(Exception):
        sqlstate = "42501"

    def look() -> list[Finding]:
        raise ZeroDivisionError("permission denied for table auth_user") from NotAllowed()

    (looked,) = rounds.look([probe(look)])
    assert looked.level == "info"
    assert "permission denied for table auth_user" in in_words(looked.findings[0]["what"])


def test_a_round_ends_when_its_time_is_up_and_the_next_begins_with_the_rest(monkeypatch):
    ran: list[str] = []
    # Each probe takes a second.
    monkeypatch.setattr(rounds, "monotonic", lambda: float(len(ran)))

    def slow(name: str) -> Callable[[], list[Finding]]:
        def look() -> list[Finding]:
            ran.append(name)
            return []

        return look

    wanted = [probe(slow(name), name) for name in "abc"]
    probe_results.keep(rounds.look(rounds.due(wanted), seconds=2), NOW)
    assert ran == ["a", "b"]

    rounds.look(rounds.due(wanted), seconds=1)

    assert ran == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("level", "seconds", "minutes", "is_due"),
    [
        ("ok", 0.9, 1, True),
        ("ok", 1.1, 9, False),
        ("ok", 1.1, 10, True),
        ("info", 5.0, 1, False),
        ("warning", 5.0, 1, True),
        ("error", 5.0, 1, True),
    ],
)
def test_a_costly_probe_rests_while_nothing_is_wrong(level, seconds, minutes, is_due):
    with frozen_clock(NOW) as clock:
        probe_results.keep([ProbeOutcome("shop.press", level, [], seconds)])
        clock.advance(minutes=minutes)
        assert [one.name for one in rounds.due([probe(list)])] == ["press"] * is_due


def test_since_is_when_it_became_so():
    for seconds, looks in enumerate((WELL, WELL, failing(), failing("none"), WELL)):
        probe_results.keep(looks, NOW + timedelta(minutes=seconds))
        kept = ProbeResult.objects.get()
        assert kept.since == NOW + timedelta(minutes=(0, 0, 2, 2, 4)[seconds])
    assert kept.errors == 0


def test_an_error_is_told_of_when_it_is_found_again_and_ends_with_its_cause():
    assert probe_results.keep(failing(), NOW) == 0
    assert not Alert.objects.exists()

    assert probe_results.keep(failing(), NOW) == 1
    assert probe_results.keep(failing("3 sheets are left"), NOW) == 1
    assert probe_results.keep(failing("2 sheets are left"), NOW) == 1
    incidents.collect()
    (incident,) = Incident.objects.all()
    assert (incident.kind, incident.code, incident.members) == ("installation", "probe_failed", 1)
    assert incident.params["about"] == "shop.press"
    alert_resolution.resolve_ended(NOW)
    assert Alert.objects.filter(acknowledged_at=None).count() == 1

    probe_results.keep(WELL, NOW)
    alert_resolution.resolve_ended(NOW)
    incidents.refresh(NOW)

    assert Incident.objects.get().state == "resolved"


@pytest.mark.parametrize(
    ("names", "title", "remedy"),
    [
        ("a", "nobody reads the queue a", "Start a worker with -Q a."),
        ("ab", "nobody reads the queue a, and 1 more error", "Follow the remedy"),
        ("abc", "nobody reads the queue a, and 2 more errors", "Follow the remedy"),
    ],
)
def test_a_probe_with_several_errors_says_so(names, title, remedy):
    nobody, start = "nobody reads the queue %(name)s", "Start a worker with -Q %(name)s."
    findings = [warning("slow", "because", "hurry")]
    findings += [error(_(nobody, name=one), "because", _(start, name=one)) for one in names]
    for _round in range(2):
        probe_results.keep(rounds.look([probe(lambda: findings)]), NOW)
    incidents.collect()
    params = Incident.objects.get().params
    assert alert_texts.title("probe_failed", params) == f"The doctor finds an error: {title}"
    assert alert_texts.newest_message("probe_failed", params) == f"shop.press: {title}. because"
    assert alert_texts.remedy("probe_failed", params).startswith(remedy)


def test_one_incident_for_each_probe():
    other = ProbeOutcome("queues.are_read", "error", [error("nobody reads", "a", "b").kept()])
    for _round in range(2):
        probe_results.keep([*failing(), other], NOW)
    incidents.collect()
    assert {one.params["about"] for one in Incident.objects.all()} == {
        "shop.press",
        "queues.are_read",
    }


def test_result_of_probe_no_longer_run_is_deleted():
    probe_results.keep(failing(), NOW)
    probe_results.keep([ProbeOutcome("other.one", "ok")], NOW + timedelta(days=1, seconds=1))
    assert [one.name for one in ProbeResult.objects.all()] == ["other.one"]


@pytest.mark.django_db(transaction=True)
def test_the_duty_runs_every_probe_once_a_minute(monkeypatch):
    wanted: list[Any] = [probe(lambda: [ok("fine")])]
    monkeypatch.setattr(rounds, "probes", lambda when: wanted)
    with frozen_clock(NOW) as clock:
        assert examinations.run()
        assert not examinations.run()
        clock.advance(seconds=59)
        assert not examinations.run()
        clock.advance(seconds=1)
        assert leases.acquire(examinations.DOCTOR, "another", 30)
        assert not examinations.run()
        assert leases.abandon(examinations.DOCTOR, "another")
        assert examinations.run()
    assert ProbeResult.objects.get().looked_at == NOW + timedelta(minutes=1)


def test_every_group_can_be_looked_at_by_a_worker():
    groups = {one.group for one in doctor.probes()}
    assert {"database", "broker", "queues", "duties", "settings", "shop"} <= groups


def test_the_checks_of_a_deployment_are_for_who_asks(monkeypatch, settings):
    settings.DEBUG = False
    looked: list[str] = []
    monkeypatch.setattr(
        rounds, "due", lambda wanted: looked.extend(map(rounds.name_of, wanted)) or []
    )

    rounds.look_over()

    assert "settings.system_checks" in looked
    assert "settings.deployment_checks" not in looked
    assert "deployment_checks" in {one.name for one in doctor.probes()}
