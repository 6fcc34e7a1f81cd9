"""A system without workers tells somebody, in a process that is no worker."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import override_settings
from django.test.utils import CaptureQueriesContext

from tests.alerts import text_of
from tests.on_call.conftest import NOW, SECRET, events, incident, member, route
from tests.programs import ROOT, said
from tests.reporting.receiver import Receiver, is_signed, receiving
from workers import supervisor
from workers.desk.management.watch import PATIENCE_SECONDS, Watch
from workers.desk.models import Incident
from workers.desk.store.delivery_plans import plan
from workers.models import Alert, Lease
from workers.supervisor import beat_watchdog


@pytest.fixture(autouse=True)
def nobody_waits(monkeypatch) -> None:
    """No broker is asked how many messages wait."""
    monkeypatch.setattr(beat_watchdog.queue_drain, "count", lambda queue: 0)


def done_now(*names: str) -> None:
    for name in names or ("sweep", "poll"):
        Lease.objects.update_or_create(name=name, defaults={"performed_at": NOW})


def test_while_workers_do_their_duty_a_look_reads_three_rows_and_writes_none(wire, clock):
    done_now()
    route()
    incident()
    with CaptureQueriesContext(connection) as captured:
        assert Watch().look().late == []
    assert len(captured) == 3
    assert all(one["sql"].startswith("SELECT") for one in captured)
    assert wire.told_of_incidents == []


def test_it_has_the_patience_that_a_restart_takes(wire, clock):
    done_now()
    route()
    watch = Watch()
    clock.advance(seconds=PATIENCE_SECONDS - 1)
    assert watch.look().late == []
    clock.advance(seconds=1)
    assert watch.look().late == ["sweep", "poll"]


def test_it_raises_the_incident_and_tells_routes_once(wire, clock):
    done_now()
    mail = route()
    clock.advance(seconds=90)

    assert Watch().look().told == 1
    clock.advance(seconds=10)
    assert Watch().look().told == 0

    (message,) = wire.told_of_incidents
    assert message.subject == ("New incident: No worker performs the periodic duties: poll, sweep")
    assert " UTC: last done 90 s before. Nothing has triggered it" in message.text
    assert "What to do: Start Celery Beat, or enable the periodic task;" in message.text
    assert "process" not in message.text
    assert events(mail) == ["opened"]
    alert = Alert.objects.filter(cause="duty_overdue:sweep").get()
    assert "Noticed by `manage.py sas watch`." in text_of(alert)
    assert "last done 100 s before" in text_of(alert)
    # It asks nobody for anything: a message that nobody reads helps nobody.
    assert wire.messages == []


def test_workers_that_come_back_end_it(wire, clock):
    done_now()
    mail = route()
    clock.advance(seconds=90)
    Watch().look()

    for _ in range(100):
        clock.advance(seconds=2)
        supervisor.sweep()
        wire.run_until_idle()

    assert set(Incident.objects.values_list("state", flat=True)) == {"resolved"}
    assert events(mail).count("resolved") == 1


def test_a_duty_that_never_was_is_late_from_the_watch_s_beginning(wire, clock, monkeypatch):
    watch = Watch()
    assert watch.look().late == []
    began = watch._began
    monkeypatch.setattr("workers.desk.management.watch.monotonic", lambda: began + PATIENCE_SECONDS)
    assert watch.look().late == ["sweep", "poll"]
    assert text_of(Alert.objects.get(cause="duty_overdue:sweep")).startswith(
        "The sweep has never run."
    )


def test_deliveries_that_no_relay_sends_are_sent(wire, clock):
    route()
    alert = member(incident())
    plan()
    clock.advance(seconds=PATIENCE_SECONDS)
    done_now()
    Lease.objects.update(performed_at=clock.now)

    watched = Watch().look()

    assert (watched.late, watched.told) == ([], 1)
    assert list(Alert.objects.all()) == [alert]


def test_once_says_what_is_late_and_fails(wire, clock):
    out = StringIO()
    with pytest.raises(SystemExit) as ended:
        call_command("sas", "watch", "--once", stdout=out)
    assert ended.value.code == 1
    assert out.getvalue() == "late: sweep, poll; told: 0\n"
    Lease.objects.all().delete()
    done_now()
    assert said("sas", "watch", "--once") == ""


@pytest.mark.parametrize("options", [("--every", "0"), ("--patience", "-1")])
def test_a_senseless_interval_is_refused(db, options):
    with pytest.raises(CommandError, match="must be above 0"):
        call_command("sas", "watch", *options)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


def test_a_process_of_its_own_tells_a_real_receiver_where_no_worker_runs(
    receiver, transactional_db
):
    done_now()
    Lease.objects.update(performed_at=NOW.replace(year=NOW.year - 1))
    with override_settings(DEBUG=True):
        route("hook", "webhook", address=f"{receiver.url}/on-call")
    database = connection.settings_dict
    url = (
        f"postgres://{database['USER']}@{database['HOST']}:{database['PORT']}/{database['NAME']}"
        if connection.vendor == "postgresql"
        else f"sqlite:///{database['NAME']}"
    )
    process = subprocess.Popen(
        [sys.executable, "manage.py", "sas", "watch", "--every", "0.2"],
        cwd=ROOT,
        env={**os.environ, "DATABASE_URL": url, "BROKER_URL": "", "DJANGO_DEBUG": "on"},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        end = time.monotonic() + 60
        while not receiver.received and time.monotonic() < end:
            time.sleep(0.1)
    finally:
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=20)

    assert process.returncode == 0
    assert out.startswith("watching\nlate: sweep, poll; told: 1\n")
    (received,) = receiver.received
    assert b"No worker performs the periodic duties: poll, sweep" in received.body
    assert is_signed(received, SECRET)
