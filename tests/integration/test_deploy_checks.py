"""`manage.py check` refuses code that orders in flight would wait for in vain."""

from collections.abc import Callable
from typing import Any

import pytest
from django.apps import apps
from django.core.checks import run_checks
from django.core.management import call_command
from django.core.management.base import SystemCheckError
from django.db import OperationalError, connection
from django.db.migrations.recorder import MigrationRecorder
from django.test import override_settings
from django.test.utils import CaptureQueriesContext

from tests.factories import put
from workers.checks import tables
from workers.client.submission import submit
from workers.desk.checks import check_installed
from workers.models import Process, Step
from workers.ops.checks import check_start
from workers.ops.doctor import in_flight, settings

Toy = Callable[..., Process]


def found() -> list[tuple[str | None, str]]:
    prefix = len("workers.E008: ")
    return [(error.check, f"{error.what[prefix:]}.") for error in in_flight.find_missing()]


def step_of(process: Process, **values: Any) -> None:
    put(Step.objects.filter(process=process, position=0), **values)


def finish(process: Process) -> None:
    Process.objects.filter(pk=process.pk).update(state="processed", finished_at=process.created_at)


def test_code_that_has_everything_is_accepted(toy):
    for workflow in ("toy_line", "toy_fallback_undo", "toy_undoable"):
        toy(workflow)

    assert found() == []


def test_a_workflow_version_that_is_gone_is_named_once_with_its_orders(toy):
    for _ in range(3):
        Process.objects.filter(pk=toy().pk).update(version=9)

    assert found() == [
        (
            "workers.E008",
            "3 orders in flight need workflow toy_line version 9, which this code does not have.",
        )
    ]


@pytest.mark.parametrize("state", ["pending", "processing", "compensating", "error"])
def test_every_order_that_is_not_over_counts(toy, state):
    process = toy()
    Process.objects.filter(pk=process.pk).update(version=9, state=state, outcome="cancelled")

    assert [check_id for check_id, _ in found()] == ["workers.E008"]

    finish(process)
    assert found() == []


@pytest.mark.parametrize(
    "values",
    [
        {"agent": "toy.gone"},
        {"fallbacks": [{"agent": "toy.gone", "undo_agent": None}]},
        {"fallbacks": [{"agent": "toy.beta", "undo_agent": "toy.gone"}]},
        {"undo": {"name": "undo_one", "agent": "toy.gone"}},
    ],
    ids=["its own", "a fall-back", "a fall-back's undo", "its undo"],
)
def test_an_agent_that_is_gone_is_named_once_with_its_orders(toy, values):
    step_of(toy(), **values)
    step_of(toy(), **values)
    # Two steps of one order are one order.
    Step.objects.filter(name="two").update(agent="toy.gone")

    assert found() == [
        ("workers.E009", "2 orders in flight need agent 'toy.gone', which this code does not have.")
    ]


def test_a_step_that_is_done_needs_its_undo_and_nothing_else(toy):
    process = toy()
    done = {"state": "processed", "result": {}, "finished_at": process.created_at}
    step_of(process, **done, agent="toy.gone", not_before=None)

    assert found() == []

    step_of(process, undo={"name": "undo_one", "agent": "toy.lost"})
    assert [msg.split("'")[1] for _, msg in found()] == ["toy.lost"]


def test_a_step_in_error_can_be_resubmitted_and_needs_its_agent(toy):
    process = toy()
    step_of(process, state="error", agent="toy.gone", finished_at=process.created_at)

    assert [check_id for check_id, _ in found()] == ["workers.E009"]


def test_a_step_that_was_taken_out_of_its_version_is_named(toy):
    step_of(toy(), name="zero")

    assert found() == [
        (
            "workers.E010",
            "1 order in flight needs step zero of workflow toy_line version 1, which this code "
            "does not have.",
        )
    ]


def test_an_undo_step_belongs_to_the_step_it_undoes(toy):
    process = toy()
    forward = Step.objects.get(process=process, name="one")
    Step.objects.filter(process=process, name="two").update(undoes=forward, name="undo_one")

    assert found() == []


def test_the_check_command_fails_and_says_what_to_do(toy, capsys):
    step_of(toy(), agent="toy.gone")

    for options in ({}, {"deploy": True}):
        with pytest.raises(SystemCheckError) as failure:
            call_command("check", **options)
        assert "workers.E009" in str(failure.value)
        assert (
            "HINT: If newer code has it, restart the processes that run this code. Else keep it"
            in str(failure.value)
        )


def test_no_other_command_and_no_worker_is_kept_from_running(toy):
    step_of(toy(), agent="toy.gone")
    Process.objects.update(version=9)

    assert [message.id for message in run_checks() if message.is_serious()] == []
    call_command("migrate", verbosity=0, skip_checks=False)


def test_it_is_silent_while_the_database_is_away(monkeypatch):
    def away() -> None:
        raise OperationalError("connection refused")

    monkeypatch.setattr(settings, "find_missing", away)

    call_command("check")


def test_it_is_silent_before_the_tables_exist_and_leaves_the_connection_usable():
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE workers_step RENAME TO workers_step_elsewhere")

    call_command("check")

    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE workers_step_elsewhere RENAME TO workers_step")


def test_a_thousand_orders_in_flight_cost_one_statement(monkeypatch):
    for number in range(20):
        submit("toy_undoable", subject=f"Toy {number}", input={})
    assert in_flight.PORTION == 1000
    for portion, statements in ((1000, 1), (10, 2)):
        monkeypatch.setattr(in_flight, "PORTION", portion)
        with CaptureQueriesContext(connection) as queries:
            assert found() == []
        assert ["DISTINCT" in query["sql"] for query in queries].count(True) == statements


def test_orders_of_all_portions_are_counted(toy, monkeypatch):
    made = [toy().pk for _ in range(7)]
    Process.objects.filter(pk__in=made).update(version=9)
    Process.objects.filter(pk__in=made[:2]).update(state="error")
    monkeypatch.setattr(in_flight, "PORTION", 2)

    ((_id, message),) = found()

    assert message.startswith("7 orders in flight need")


@pytest.mark.postgresql
@pytest.mark.parametrize("open_one_in", [1, 20, 3000])
def test_it_reads_no_step_of_an_order_that_is_over(open_one_in, monkeypatch):
    """Whatever share of the orders is open."""
    # As small a part of these few rows as a thousand is of a shop's.
    monkeypatch.setattr(in_flight, "PORTION", 10)
    template = submit("toy_line", subject="Toy 1", input={}).pk
    with connection.cursor() as cursor:
        # Without the triggers, which take a minute for so many rows.
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute(
            "INSERT INTO workers_process SELECT (jsonb_populate_record(p, jsonb_build_object("
            "'id', p.id + n, 'uid', gen_random_uuid(), 'state',"
            " CASE WHEN n %% %s = 0 THEN 'processing' ELSE 'processed' END,"
            " 'finished_at', CASE WHEN n %% %s = 0 THEN NULL ELSE now() END))).*"
            " FROM workers_process p, generate_series(1, 3000) n WHERE p.id = %s",
            [open_one_in, open_one_in, template],
        )
        cursor.execute(
            "INSERT INTO workers_step SELECT (jsonb_populate_record(s, jsonb_build_object("
            "'id', s.id + 3000 * n, 'process_id', s.process_id + n,"
            " 'idempotency_key', gen_random_uuid()))).*"
            " FROM workers_step s, generate_series(1, 3000) n WHERE s.process_id = %s",
            [template],
        )
        for table in ("workers_process", "workers_step"):
            cursor.execute(f"ANALYZE {table}")
    with CaptureQueriesContext(connection) as queries:
        assert found() == []
    for query in queries:
        with connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN {query['sql']}")
            plan = "\n".join(row[0] for row in cursor.fetchall())
        assert "Seq Scan" not in plan, plan
        # With both tables in one statement, either may be read as a whole, by an index, too.
        assert "workers_step" not in plan or "workers_process" not in plan, plan


def test_a_database_of_a_development_version_is_refused_in_a_sentence():
    """Its tables have our names, and `migrate` would fail in the middle."""
    recorder = MigrationRecorder(connection)
    # Newer code, as after a rollback, is no other history.
    recorder.record_applied("workers", "9999_of_newer_code")
    assert check_start(None, databases=["default"]) == []
    assert tables.problem() is None

    recorder.record_applied("workers", "0001_initial")

    (error,) = check_start(None, databases=["default"])
    assert error.id == "workers.E026"
    assert "development version: it has workers.0001_initial" in error.msg
    assert "workers.0001_initial" in (tables.problem() or "")
    with pytest.raises(SystemCheckError, match="development version"):
        call_command("migrate", verbosity=0, skip_checks=False)


def test_a_deployment_before_its_migrations_is_refused(monkeypatch):
    monkeypatch.setattr(tables, "unapplied", lambda: ["workers.0002_more"])

    with pytest.raises(SystemCheckError) as failure:
        call_command("check", deploy=True)

    assert "(workers.E020) 1 migration is not applied: workers.0002_more." in str(failure.value)
    # A development server starts without them.
    call_command("check")
    assert "workers.E020" not in [one.id for one in run_checks(include_deployment_checks=True)]


def test_a_monitor_that_is_never_called_is_named_by_check_alone():
    with override_settings(SAS_PING_URL="http://monitor.example/ping"):
        with pytest.raises(SystemCheckError) as failure:
            call_command("check")
        assert "(workers.E025) SAS_PING_URL " in str(failure.value)
        assert "workers.E025" not in [one.id for one in run_checks(databases=["default"])]


def test_a_desk_without_what_is_looked_at_is_refused(monkeypatch):
    assert check_installed(None) == []
    monkeypatch.setattr(apps, "is_installed", lambda name: name != "workers.ops")

    (error,) = check_installed(None)

    assert (error.id, 'Add "workers.ops"' in str(error.hint)) == ("workers.E027", True)
