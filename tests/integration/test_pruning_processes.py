"""Processes that ended long ago go with all of their rows; what somebody may need stays."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.db.models import ProtectedError
from django.test import override_settings

from orders import retention as shop
from orders.models import DeadLetter, Order, OrderLine, Product, Return
from orders.submission import Customer, Line, place_order
from tests.concurrency.matrix.pausing import meet
from tests.factories import AlertFactory, SinkFactory, a_spec
from tests.integration.conftest import ENDED as NOW
from workers.client.submission import submit
from workers.desk.models import Note
from workers.models import Alert, Journal, LiveStep, Process, Sink, Step, UndoRequest
from workers.operate import retention
from workers.ops import invariants
from workers.store import old_processes

LATER = NOW + timedelta(days=100)
TABLES = (Process, Step, LiveStep, Journal, Sink, Alert, UndoRequest, Order, OrderLine, Return)


@pytest.fixture(autouse=True)
def a_month() -> Any:
    with override_settings(SAS_KEEP_PROCESSES_DAYS=30):
        yield


def rows() -> dict[str, list[dict[str, Any]]]:
    return {model.__name__: list(model.objects.order_by("pk").values()) for model in TABLES}


def prune(limit: int = 200, now: datetime = LATER) -> list[int]:
    """Prune as a round does: journals, then processes."""
    list(old_processes.JOURNALS.prune(limit, now))
    return list(old_processes.PROCESSES.prune(limit, now))


def order_that_ended(key: str, **columns: Any) -> Order:
    Product.objects.get_or_create(sku="SKU-001", defaults={"name": "L", "price": 9, "stock": 9})
    order, _ = place_order(
        Customer("Ann", "ann@example.org", "Street 1"),
        [Line("SKU-001", 1)],
        submission_key=key,
        source="shop",
    )
    end(order.process, **columns)
    return order


def end(process: Process, **columns: Any) -> None:
    process.steps.update(state="skipped", not_before=None)
    Process.objects.filter(pk=process.pk).update(
        **{"state": "cancelled", "outcome": "cancelled", "finished_at": NOW, **columns}
    )


def test_an_old_process_goes_with_all_of_its_rows_and_a_young_one_stays(ended):
    old = ended()
    Note.objects.create(process=old, text="seen", at=NOW)
    SinkFactory(process=old, cursor=9, last=9, state="ended", next_try_at=NOW)
    young = ended(finished_at=LATER - timedelta(days=29))
    before = rows()

    assert prune() == [1]

    of_young = {
        name: [row for row in found if row.get("process_id", row.get("id")) == young.pk]
        for name, found in before.items()
    }
    after = rows()
    assert after == of_young
    assert len(after["Step"]) == 2
    assert not Note.objects.exists()
    assert invariants.violations() == []


@override_settings(SAS_KEEP_JOURNAL_DAYS=36_500)
def test_a_journal_goes_with_its_process_however_long_it_would_be_kept(ended):
    ended()

    assert prune() == [1]
    assert not Journal.objects.exists()


def test_longest_retention_setting_keeps_every_process(ended, settings):
    del settings.SAS_KEEP_PROCESSES_DAYS
    ended()
    before = rows()

    assert sum(prune(now=NOW + timedelta(days=36_000))) == 0
    assert rows() == before


@pytest.mark.parametrize(
    "reason",
    ["in error", "an open alert", "an alert that is kept", "a request that is kept", "untold"],
)
def test_process_pruning_spares_process_in_error_alerted_or_untold(ended, reason):
    process = ended()
    acknowledged = {"an open alert": None, "an alert that is kept": NOW}
    match reason:
        case "in error":
            Process.objects.update(state="error", finished_at=None)
        case "an open alert" | "an alert that is kept":
            AlertFactory(
                cause="c",
                code="step_skipped",
                process=process,
                raised_at=NOW,
                acknowledged_at=acknowledged[reason],
            )
        case "a request that is kept":
            UndoRequest.objects.create(
                process=process, verb="cancel", undo=[], sequence=0, asked_at=NOW
            )
        case "untold":
            SinkFactory(
                process=process, address="a", cursor=1, last=9, state="open", next_try_at=NOW
            )

    assert sum(prune()) == 0

    assert Step.objects.count() == 2
    assert old_processes.PROCESSES.count(LATER) == 0


def test_a_process_that_runs_again_stays(ended):
    process = ended()
    list(old_processes.JOURNALS.prune(200, LATER))
    Process.objects.update(state="processing", finished_at=None)

    assert sum(old_processes.PROCESSES.prune(200, LATER)) == 0
    assert Process.objects.get() == process


def test_process_protected_by_an_order_is_left_out_of_pruning(ended, monkeypatch):
    order = order_that_ended("key-1")
    other = ended()
    with pytest.raises(ProtectedError):
        order.process.delete()
    tried: list[list[int]] = []
    real = old_processes._delete_whole
    monkeypatch.setattr(old_processes, "_delete_whole", lambda ids: tried.append(ids) or real(ids))

    assert prune() == [1]

    # It is left out, and not found out by trying: there may be very many.
    assert tried == [[other.pk]]
    assert Process.objects.get(workflow="fulfilment") == order.process
    assert Step.objects.filter(process=order.process).exists()


def test_protected_dependent_row_keeps_only_its_own_process(ended, monkeypatch):
    kept, other = ended(), ended()
    real = old_processes._delete_whole

    def delete(ids: list[int]) -> int:
        count = real(ids)
        if kept.pk in ids:
            raise ProtectedError("a row of a row", set())
        return count

    monkeypatch.setattr(old_processes, "_delete_whole", delete)

    assert prune() == [1]
    assert Process.objects.get() == kept != other
    assert kept.steps.count() == 2


def test_an_undone_process_goes_with_its_undo_steps(ended):
    process = ended()
    done = process.steps.get(name="one")
    Step.objects.create(
        process=process, name="unone", position=10, state="processed", agent="toy.undoer",
        undoes=done, result={}, spec_digest=a_spec(), failure_threshold=3, idempotency_key="k:10:1",
    )  # fmt: skip

    assert prune() == [1]
    assert not Step.objects.exists()


def test_a_round_takes_the_orders_and_then_their_processes():
    old = order_that_ended("key-1")
    DeadLetter.objects.create(
        received_at=NOW, body=b"{", order=old, state="replayed", resolved_at=LATER
    )
    young = order_that_ended("key-2", finished_at=LATER)
    under_way = order_that_ended("key-3", state="processing", outcome=None, finished_at=None)

    done = retention.prune(seconds=None, now=LATER)

    assert done is not None
    assert (done["orders"], done["processes"]) == (1, 1)
    assert list(Order.objects.order_by("pk")) == [young, under_way]
    fulfilments = Process.objects.filter(workflow="fulfilment")
    assert OrderLine.objects.count() == fulfilments.count() == 2
    assert DeadLetter.objects.get().order is None


def test_an_order_stays_while_what_was_sent_back_of_it_is_young():
    order = order_that_ended("key-1")
    process = submit("toy_line", subject="Return of order 1", input={}, now=NOW)
    Return.objects.create(order=order, process=process)
    list(old_processes.JOURNALS.prune(200, LATER))

    for columns in ({"state": "processing", "outcome": None, "finished_at": None}, {}):
        assert list(shop.ORDERS.find(LATER)) == []
        end(process, **columns)
    assert sum(prune()) == 0

    assert list(shop.ORDERS.find(LATER)) == [order]
    assert sum(shop.ORDERS.prune(200, LATER)) == 1
    assert sum(prune()) == 2
    assert not Process.objects.exclude(workflow="notice").exists()


def test_a_portion_is_a_transaction(ended):
    for _ in range(5):
        ended()
    list(old_processes.JOURNALS.prune(200, LATER))

    assert list(old_processes.PROCESSES.prune(2, LATER)) == [2, 2, 1]
    assert not Process.objects.exists()


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_what_begins_again_at_this_instant_stays(two):
    order = order_that_ended("key-1")
    list(old_processes.JOURNALS.prune(200, LATER))
    process = Process.objects.filter(pk=order.process_id)

    def begin_again() -> None:
        with transaction.atomic():
            process.update(state="processing", outcome=None, finished_at=None)

    turns = meet(two, begin_again, lambda: sum(shop.ORDERS.prune(200, LATER)), after=1)
    assert [turn.result for turn in turns] == [None, 0]

    Order.objects.all().delete()
    end(process.get())
    turns = meet(two, begin_again, lambda: sum(old_processes.PROCESSES.prune(200, LATER)), after=1)
    assert [turn.result for turn in turns] == [None, 0]
    assert process.get().state == "processing"


@pytest.mark.postgresql
@pytest.mark.parametrize("deferred", ["", " deferrable initially deferred"], ids=["now", "late"])
@pytest.mark.parametrize("table", ["workers_process", "workers_step"])
def test_a_foreign_key_that_django_does_not_know_keeps_only_its_own_process(ended, table, deferred):
    kept, gone = ended(), ended()
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE TABLE bi_report (of bigint REFERENCES {table}{deferred})")
        column = "id" if table == "workers_process" else "process_id"
        cursor.execute(
            f"INSERT INTO bi_report SELECT id FROM {table} WHERE {column} = %s LIMIT 1", [kept.pk]
        )

    assert sum(prune()) == 1

    assert list(Process.objects.values_list("pk", flat=True)) == [kept.pk]
    assert Step.objects.filter(process=kept).exists()
    alert = Alert.objects.get(code="row_unusable")
    assert alert.process_id == kept.pk
    assert "bi_report" in alert.params["error"]
    assert gone.pk != kept.pk
