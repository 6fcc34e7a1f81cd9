"""What the doctor says of the engine's rows: in the bad state, and in the good one."""

from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from django.test import override_settings
from django.utils import timezone
from django_celery_beat.models import PeriodicTask

from tests.factories import AlertFactory, ProcessFactory, SinkFactory, StepFactory
from workers.client.submission import submit
from workers.models import Alert, Flow, Lease, Process, Step
from workers.ops.doctor import Finding, agents, alerts, backlog, duties, files, tables
from workers.ops.doctor import settings as of_settings
from workers.store import leases
from workers.store.flow import holds
from workers.supervisor import beat_schedule


def said(found: Iterable[Finding]) -> list[tuple[str, str]]:
    return [(str(one.level), one.what) for one in found]


def levels(found: Iterable[Finding]) -> list[str]:
    return [str(one.level) for one in found]


def ago(**duration: float) -> Any:
    return timezone.now() - timedelta(**duration)


def test_every_finding_that_is_bad_says_why_and_what_to_do():
    # The bad states of this module, all at once.
    Lease.objects.all().delete()
    PeriodicTask.objects.all().delete()
    Flow.objects.filter(agent="toy.alpha").delete()
    Flow.objects.filter(agent="toy.beta").update(window=0)
    ProcessFactory(state="error")
    looks = (duties.are_scheduled, duties.sweep_and_poll_are_performed, agents.have_flow_rows)
    looks += (agents.may_be_claimed, backlog.processes_by_state)
    found = [one for look in looks for one in look() if one.level in ("warning", "error")]

    assert len(found) == 8
    assert all(one.what and one.why and one.remedy for one in found)


class TestDuties:
    def test_doctor_finds_duties_scheduled_after_ensure(self):
        beat_schedule.ensure()
        assert levels(duties.are_scheduled()) == ["ok"]

    @pytest.mark.parametrize(
        "name", [beat_schedule.SWEEP_NAME, beat_schedule.POLL_NAME, beat_schedule.PRUNE_NAME]
    )
    def test_one_that_is_off_or_gone_is_named(self, name):
        beat_schedule.ensure()
        PeriodicTask.objects.filter(name=name).update(enabled=False)
        assert said(duties.are_scheduled()) == [
            ("warning", f"the periodic task {name!r} is disabled")
        ]
        PeriodicTask.objects.filter(name=name).delete()
        assert said(duties.are_scheduled()) == [("warning", f"there is no periodic task {name!r}")]

    def test_a_sweep_that_is_late_and_a_poll_that_never_was(self):
        now = timezone.now()
        Lease.objects.create(name=leases.SWEEP, performed_at=now - timedelta(seconds=60))
        (sweep, poll) = duties.sweep_and_poll_are_performed()
        assert (str(sweep.level), str(poll.level)) == ("error", "error")
        assert sweep.what.startswith("the last sweep is 6")
        assert poll.what == "the last poll was never performed"

    def test_duties_in_time(self):
        for name in (leases.SWEEP, leases.POLL):
            Lease.objects.create(name=name, performed_at=timezone.now())
        assert levels(duties.sweep_and_poll_are_performed()) == ["ok", "ok"]

    @pytest.mark.parametrize(
        ("hours", "level"), [(None, ["info"]), (23, []), (25, ["warning"])], ids=str
    )
    def test_pruning(self, hours, level):
        if hours is not None:
            Lease.objects.create(name=leases.PRUNE, performed_at=ago(hours=hours))
        assert levels(duties.pruning_is_performed()) == level


class TestAgents:
    def test_nothing_stands_in_the_way(self):
        assert levels(agents.may_be_claimed()) == ["ok"]
        assert said(agents.have_flow_rows()) == []

    @pytest.mark.parametrize(
        ("columns", "what"),
        [
            ({"window": 0}, "the window of toy.alpha is 0"),
            ({"forced": "open"}, "the breaker of toy.alpha is forced open"),
            ({"forced": "closed"}, "the breaker of toy.alpha is forced closed"),
            ({"breaker": True}, "the breaker of toy.alpha opened 10 min ago"),
        ],
    )
    def test_what_is_not_claimed(self, columns, what):
        if columns.pop("breaker", False):
            columns = {"opened_at": ago(minutes=10), "open_until": timezone.now()}
        Flow.objects.filter(agent="toy.alpha").update(**columns)
        assert said(agents.may_be_claimed()) == [("warning", what)]

    def test_a_hold(self):
        holds.hold(
            "agent", "toy.alpha", actor="operator:olga", reason="they asked, ann@example.org"
        )
        (found,) = agents.may_be_claimed()
        assert "agent toy.alpha is held, by operator:olga" in found.what
        assert "they asked" in found.why
        assert "ann@example.org" not in found.why
        holds.lift("agent", "toy.alpha", actor="operator:olga", reason="over")
        assert levels(agents.may_be_claimed()) == ["ok"]

    def test_an_agent_without_a_row(self):
        Flow.objects.filter(agent="toy.alpha").delete()
        assert said(agents.have_flow_rows()) == [("error", "agents without a flow row: toy.alpha")]

    def test_an_unsafe_call_that_outlasts_a_shutdown(self):
        with override_settings(SAS_SHUTDOWN_SECONDS=600):
            assert said(agents.end_before_a_stopped_worker()) == []
        assert levels(agents.end_before_a_stopped_worker()) == ["info"]


class TestBacklog:
    def test_pending_for_long(self):
        StepFactory(pending=True, agent="toy.alpha", not_before=ago(seconds=301))
        StepFactory(pending=True, agent="toy.beta", not_before=ago(seconds=200))
        StepFactory(pending=True, agent="toy.gamma", not_before=ago(seconds=-999))
        (late, total) = backlog.pending_steps_are_claimed()
        assert late.what.startswith("1 step of toy.alpha has waited to be claimed for 30")
        assert (str(late.level), total.what) == ("warning", "2 steps wait to be claimed")

    @pytest.mark.parametrize(
        "process", [{"paused_at": ago(seconds=999)}, {"state": "error"}, {"state": "compensating"}]
    )
    def test_of_what_stands_still_by_itself_no_backlog_is_made(self, process):
        given = {"outcome": "compensated"} if process.get("state") == "compensating" else {}
        standing = ProcessFactory(**process, **given)
        StepFactory(process=standing, pending=True, agent="toy.alpha", not_before=ago(seconds=999))
        StepFactory(pending=True, agent="toy.alpha", not_before=ago(seconds=9))
        assert said(backlog.pending_steps_are_claimed()) == [("ok", "2 steps wait to be claimed")]

    @pytest.mark.parametrize(("seconds", "level"), [(20, []), (40, ["error"])])
    def test_started_and_forgotten(self, seconds, level):
        step = StepFactory(started=True)
        Step.objects.filter(pk=step.pk).update(
            started_at=ago(seconds=99), complete_by=ago(seconds=seconds)
        )
        assert levels(backlog.started_steps_end()) == level
        Step.objects.filter(pk=step.pk).update(reply={"result": {}})
        assert levels(backlog.started_steps_end()) == []
        assert levels(backlog.filed_replies_are_settled()) == level

    def test_processes(self):
        assert said(backlog.processes_by_state()) == [("ok", "processes under way: none")]
        ProcessFactory(state="error")
        ProcessFactory(state="processed")
        ProcessFactory(paused_at=timezone.now())
        assert said(backlog.processes_by_state()) == [
            ("warning", "1 process is in error"),
            ("ok", "processes under way: 1 processing"),
            ("info", "1 process is paused"),
        ]

    def test_submitters(self):
        told = "every submitter has been notified, or will be within a minute"
        assert said(backlog.are_told()) == [("ok", told)]
        common = {"process": ProcessFactory(), "kind": "queue", "last": 2, "cursor": 1}
        SinkFactory(**common, address="a", next_try_at=ago(seconds=59))
        assert levels(backlog.are_told()) == ["ok"]
        SinkFactory(**common, address="b", next_try_at=ago(seconds=61))
        SinkFactory(**common, address="c", state="undeliverable", next_try_at=ago(seconds=99))
        assert said(backlog.are_told()) == [
            ("warning", "1 reply queue or webhook was given up"),
            ("warning", "1 reply queue or webhook is due, and no worker sends to it"),
        ]


def test_alerts_that_are_open():
    assert levels(alerts.are_acknowledged()) == ["ok"]
    now = timezone.now()
    for cause, done in (("a", None), ("b", None), ("c", now)):
        AlertFactory(cause=cause, code="breaker_open", raised_at=now, acknowledged_at=done)
    (found,) = alerts.are_acknowledged()
    assert found.what.startswith("2 open alerts breaker_open, the first from ")
    Alert.objects.filter(cause="b").delete()
    (found,) = alerts.are_acknowledged()
    assert found.what.startswith("1 open alert breaker_open, from ")


class TestSettings:
    def test_a_check_that_finds_something(self):
        with override_settings(SAS_WINDOW="many", DEBUG=True):
            found = list(of_settings.system_checks())
        assert [str(one.level) for one in found] == ["error", "info"]
        assert found[0].what.startswith("workers.E001: SAS_WINDOW must be a number")

    def test_outside_debug_those_for_a_deployment_are_asked(self):
        with override_settings(DEBUG=False, SECURE_HSTS_SECONDS=0):
            found = [one.what for one in of_settings.deployment_checks()]
            always = [one.what for one in of_settings.system_checks()]
        assert any(what.startswith("security.W004") for what in found)
        assert not any(what.startswith("security.") for what in always)

    def test_code_that_orders_need(self):
        process = submit("toy_line", subject="Toy 1", input={})
        assert said(of_settings.code_has_what_orders_need()) == []
        Process.objects.filter(pk=process.pk).update(version=9)
        assert levels(of_settings.code_has_what_orders_need()) == ["error"]


class TestTables:
    def test_sizes_are_told(self):
        assert levels(tables.sizes())[0] == "info"

    @pytest.mark.parametrize(
        ("rows", "days", "level"),
        [(10_000_001, 36_500, ["warning"]), (10_000_001, 365, []), (10_000_000, 36_500, [])],
    )
    def test_a_journal_kept_for_good(self, rows, days, level):
        with override_settings(SAS_KEEP_JOURNAL_DAYS=days):
            assert levels(tables._journal(rows)) == level

    def test_what_holds_pruning_back(self, monkeypatch):
        assert said(tables.nothing_holds_pruning_back()) == []
        monkeypatch.setattr(tables, "MANY_HELD_BACK", 1)
        process = ProcessFactory(state="processed", finished_at=ago(days=40))
        SinkFactory(process=process, address="a", last=1)
        with override_settings(SAS_KEEP_JOURNAL_DAYS=30):
            assert levels(tables.nothing_holds_pruning_back()) == ["warning"]


class TestFiles:
    @pytest.mark.parametrize(
        ("free", "level"), [(50 * 1024**2, "error"), (500 * 1024**2, "warning"), (2**31, "ok")]
    )
    def test_room(self, monkeypatch, tmp_path, free, level):
        monkeypatch.setattr(
            files.shutil, "disk_usage", lambda folder: type("Usage", (), {"free": free})
        )
        with override_settings(RUN_DIR=tmp_path):
            assert levels(files.disks_have_room()) == [level]

    def test_every_disk_that_is_written_to_is_told_of_once(self, monkeypatch, tmp_path):
        run, database, messages = (tmp_path / name for name in ("run", "db", "messages"))
        for one in (run, database, messages):
            one.mkdir()
        embedded = Mock(vendor="sqlite", settings_dict={"NAME": str(database / "db.sqlite3")})
        monkeypatch.setattr(files, "connection", embedded)
        monkeypatch.setattr(files, "broker_is", lambda kind: kind == "filesystem")
        folders = {"data_folder_in": str(messages), "data_folder_out": str(messages)}
        monkeypatch.setattr(files, "current_app", Mock())
        files.current_app.conf.broker_transport_options = folders
        free = {run: 2**31, database: 0, messages: 500 * 1024**2}
        monkeypatch.setattr(
            files.shutil, "disk_usage", lambda one: type("Usage", (), {"free": free[one]})
        )
        with override_settings(RUN_DIR=run):
            assert levels(files.disks_have_room()) == ["ok"]
            monkeypatch.setattr(files, "_one_per_disk", dict.fromkeys)
            assert levels(files.disks_have_room()) == ["ok", "error", "warning"]

    def test_a_run_folder_that_is_not_there(self, tmp_path):
        with override_settings(RUN_DIR=tmp_path / "gone"):
            assert "error" in levels(files.disks_have_room())

    def test_the_kind_of_a_disk_is_that_of_the_nearest_mount(self, monkeypatch, tmp_path):
        mounts = tmp_path / "mounts"
        mounts.write_text(f"a / ext4 rw\nb {tmp_path} nfs4 rw\nc /elsewhere xfs rw\n")
        monkeypatch.setattr(files, "MOUNTS", mounts)
        assert files.file_system(tmp_path / "x" / "db.sqlite3") == "nfs4"
        assert files.file_system(Path("/var/db.sqlite3")) == "ext4"
        mounts.unlink()
        assert files.file_system(tmp_path) == ""

    @pytest.mark.sqlite
    @pytest.mark.parametrize(("kind", "level"), [("nfs4", ["error"]), ("ext4", [])])
    def test_sqlite_on_a_network_disk(self, monkeypatch, kind, level):
        monkeypatch.setattr(files, "file_system", lambda path: kind)
        assert levels(files.sqlite_is_on_a_local_disk()) == level
