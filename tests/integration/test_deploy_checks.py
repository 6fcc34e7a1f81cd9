"""`manage.py check` refuses code that orders in flight would wait for in vain."""

from collections.abc import Callable
from typing import Any

import pytest
from django.core.checks import run_checks
from django.core.management import call_command
from django.core.management.base import SystemCheckError
from django.db import OperationalError, connection
from django.test.utils import CaptureQueriesContext

from workers.checks import in_flight
from workers.client.submission import submit
from workers.models import Process, Step

pytestmark = pytest.mark.django_db
Toy = Callable[..., Process]


def found() -> list[tuple[str | None, str]]:
    return [(error.id, error.msg) for error in in_flight.find_missing()]


def step_of(process: Process, **values: Any) -> None:
    Step.objects.filter(process=process, position=0).update(**values)


def finish(process: Process) -> None:
    Process.objects.filter(pk=process.pk).update(state="processed", finished_at=process.created_at)


def test_code_that_has_everything_is_accepted(toy: Toy) -> None:
    for workflow in ("toy_line", "toy_fallback_undo", "toy_undoable"):
        toy(workflow)

    assert found() == []


def test_a_workflow_version_that_is_gone_is_named_once_with_its_orders(toy: Toy) -> None:
    for _ in range(3):
        Process.objects.filter(pk=toy().pk).update(version=9)

    assert found() == [
        (
            "workers.E008",
            "3 orders in flight need workflow toy_line version 9, which this code does not have.",
        )
    ]


@pytest.mark.parametrize("state", ["pending", "processing", "compensating", "error"])
def test_every_order_that_is_not_over_counts(toy: Toy, state: str) -> None:
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
def test_an_agent_that_is_gone_is_named_once_with_its_orders(
    toy: Toy, values: dict[str, Any]
) -> None:
    step_of(toy(), **values)
    step_of(toy(), **values)
    # Two steps of one order are one order.
    Step.objects.filter(name="two").update(agent="toy.gone")

    assert found() == [
        (
            "workers.E009",
            "2 orders in flight need agent 'toy.gone', which this code does not have.",
        )
    ]


def test_a_step_that_is_done_needs_its_undo_and_nothing_else(toy: Toy) -> None:
    process = toy()
    done = {"state": "processed", "result": {}, "finished_at": process.created_at}
    step_of(process, **done, agent="toy.gone", not_before=None)

    assert found() == []

    step_of(process, undo={"name": "undo_one", "agent": "toy.lost"})
    assert [msg.split("'")[1] for _, msg in found()] == ["toy.lost"]


def test_a_step_in_error_can_be_resubmitted_and_needs_its_agent(toy: Toy) -> None:
    process = toy()
    step_of(process, state="error", agent="toy.gone", finished_at=process.created_at)

    assert [check_id for check_id, _ in found()] == ["workers.E009"]


def test_a_step_that_was_taken_out_of_its_version_is_named(toy: Toy) -> None:
    step_of(toy(), name="zero")

    assert found() == [
        (
            "workers.E010",
            "1 order in flight needs step zero of workflow toy_line version 1, which this code "
            "does not have.",
        )
    ]


def test_an_undo_step_belongs_to_the_step_it_undoes(toy: Toy) -> None:
    process = toy()
    forward = Step.objects.get(process=process, name="one")
    Step.objects.filter(process=process, name="two").update(undoes=forward, name="undo_one")

    assert found() == []


def test_the_check_command_fails_and_says_what_to_do(
    toy: Toy, capsys: pytest.CaptureFixture[str]
) -> None:
    step_of(toy(), agent="toy.gone")

    for options in ({}, {"deploy": True}):
        with pytest.raises(SystemCheckError) as failure:
            call_command("check", **options)
        assert "workers.E009" in str(failure.value)
        assert (
            "HINT: If newer code has it, restart the processes that run this code. Else keep it"
            in str(failure.value)
        )


def test_no_other_command_and_no_worker_is_kept_from_running(toy: Toy) -> None:
    step_of(toy(), agent="toy.gone")
    Process.objects.update(version=9)

    assert [message.id for message in run_checks() if message.is_serious()] == []
    call_command("migrate", verbosity=0)


def test_it_is_silent_while_the_database_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    def away() -> None:
        raise OperationalError("connection refused")

    monkeypatch.setattr(in_flight, "find_missing", away)

    call_command("check")


def test_it_is_silent_before_the_tables_exist_and_leaves_the_connection_usable() -> None:
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE workers_step RENAME TO workers_step_elsewhere")

    call_command("check")

    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE workers_step_elsewhere RENAME TO workers_step")


def test_its_cost_is_two_statements_while_nothing_is_missing() -> None:
    for number in range(20):
        submit("toy_undoable", subject=f"Toy {number}", input={})

    with CaptureQueriesContext(
        connection,
    ) as queries:
        assert found() == []

    assert ["DISTINCT" in query["sql"] for query in queries] == [True, True]


@pytest.mark.postgresql
def test_it_looks_at_no_order_that_is_over() -> None:
    with connection.cursor() as cursor:
        # Nearly all orders are over, as in a shop that has been running for a while.
        cursor.execute(
            "INSERT INTO workers_process SELECT (jsonb_populate_record(p, jsonb_build_object("
            "'id', p.id + n, 'uid', gen_random_uuid(), 'state', 'processed',"
            " 'finished_at', now()))).* FROM workers_process p, generate_series(1, 20000) n"
            " WHERE p.id = %s",
            [submit("toy_line", subject="Toy 1", input={}).pk],
        )
        cursor.execute("ANALYZE workers_process")
    for steps, index in zip(
        in_flight._steps_in_flight(), ("process_open_idx", "process_error_idx"), strict=True
    ):
        plan = steps.values_list(*in_flight._COLUMNS).distinct().explain()
        assert index in plan
        assert "Seq Scan on workers_process" not in plan
