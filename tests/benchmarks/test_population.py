"""What the large database is filled with is sound, of every kind, and the same each time."""

from collections.abc import Iterator
from contextlib import closing

import pytest
from django.core.management import call_command
from django.db import connection
from django.db.models import Count

from benchmarks.population import copies, specimens
from orders import invariants as shop
from orders.models import DeadLetter, Order, OrderLine
from workers.client.submission import submit
from workers.models import Alert, Journal, LiveStep, Process, Sink
from workers.ops import invariants

ORDERS = 2_000

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.postgresql]


@pytest.fixture
def filled() -> Iterator[int]:
    """Fill the database; return how many orders there are beside the specimens.

    A transaction of somebody else's goes on meanwhile, as it does in any database that is used.
    PostgreSQL uses no index of rows that have been updated which was made after it began.
    """
    elsewhere = connection.copy()
    with closing(elsewhere), elsewhere.cursor() as cursor:
        cursor.execute(
            "BEGIN; SELECT txid_current(); SET LOCAL idle_in_transaction_session_timeout = 0"
        )
        made = specimens.make()
        for _ in copies.copy(made, ORDERS, seed=7):
            pass
        yield len(made)
    call_command("flush", interactive=False, verbosity=0)


def test_every_invariant_holds_of_a_mixture_of_everything(filled):
    assert invariants.violations() == []
    assert shop.violations(None) == []

    orders = Order.objects.count()
    assert orders == ORDERS + filled
    assert OrderLine.objects.values("order").distinct().count() == orders
    states = dict(Process.objects.values_list("state").annotate(n=Count("pk")))
    assert set(states) == {
        *("pending", "processing", "processed", "error", "compensated", "cancelled")
    }
    assert states["processed"] > 0.9 * orders
    assert Alert.objects.filter(acknowledged_at=None, code="process_error").exists()
    assert Alert.objects.filter(acknowledged_at=None, code="undo_stuck").exists()
    assert LiveStep.objects.filter(is_deferred=True).exists()
    assert Process.objects.filter(paused_at__isnull=False).exists()
    assert Sink.objects.filter(state="undeliverable").exists()
    assert DeadLetter.objects.exists()
    assert Journal.objects.filter(event="expired").exists()


def test_every_order_is_its_own(filled):
    found = Order.objects.select_related("process").order_by("-number")[: ORDERS // 2]
    for order in found:
        assert order.process.subject == str(order)
        assert order.process.input["number"] == order.number
        assert order.process.input["id"] == str(order.public_id)
        assert order.process.input["customer"]["email"] == order.customer_email


def test_the_indexes_are_there_again_and_new_orders_get_numbers_of_their_own(filled):
    names = {index.name for model in (Process, Journal, Order) for index in model._meta.indexes}
    with connection.cursor() as cursor:
        cursor.execute("SELECT indexname FROM pg_indexes WHERE schemaname = current_schema()")
        there = {row[0] for row in cursor.fetchall()}
        cursor.execute("SHOW statement_timeout")
        assert cursor.fetchone()[0] == "15s"
    assert names <= there
    assert {"step_name_unique", "journal_note_once_per_attempt"} <= there
    assert submit("fulfilment", subject="Next", input={}).pk > ORDERS
