"""Lists, filters and searches of the admin read no large table, whatever is asked for."""

from typing import Any, TypeVar
from urllib.parse import urlencode

import pytest
from django.contrib.auth import get_user_model
from django.db import connection
from django.db.models import Model
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from orders.models import Order
from tests.admin.conftest import order_in_error
from tests.factories import OrderFactory, StepFactory
from workers.desk.admin import search
from workers.desk.models import BulkItem, BulkJob, Incident
from workers.models import Alert, Attribute, Process, Step

M = TypeVar("M", bound=Model)

MANY = 3000
LARGE = ("workers_process", "workers_step", "workers_attribute", "orders_order")
ORDERS, PROCESSES = "/admin/orders/order/", "/admin/workers/process/"
OF_BOTH = (
    "",
    "p=30",
    *(f"needs={need}" for need in ("someone", "error", "alert", "expired")),
    *(f"state={state}" for state in ("error", "processed", "compensated", "cancelled", "pending")),
    "step=charge_payment",
    "step=nothing",
    "agent=payment.charge",
    "fault=http_500",
    "paused=yes",
    "incident=1",
    "at=pending%3Apayment.charge",
    "job=7",
    "job=7%3Arefused",
    "job=7%3Afailed_again",
    "where=order%3D77",
    "where=order%3D77&state=processed",
    "needs=error&job=7",
    "needs=someone&state=error",
    "needs=someone&step=charge_payment",
    "needs=alert&agent=payment.charge&fault=http_500",
)
TERMS = ("Ada 77", "nobody", "ada77@example.org", "77", "PO-77", "key-77", "deadbeef", "ch_7700")
MONEY = (">499", "<=1", "=250", "2..3", ">0", "<0.5")
OF_ORDERS = (
    "o=3",
    "o=-3",
    *(urlencode({"money": text}) for text in MONEY),
    *(urlencode({"q": term}) for term in TERMS),
)
OF_PROCESSES = (
    "workflow=return",
    *(urlencode({"q": term}) for term in ("order 77", "nothing", "deadbeef", "ch_7700")),
)


ADDRESSES = (
    *(f"{ORDERS}?{query}" for query in (*OF_BOTH, *OF_ORDERS)),
    *(f"{PROCESSES}?{query}" for query in (*OF_BOTH, *OF_PROCESSES)),
    "/admin/",
    "/admin/workers/sink/?q=order+77",
    "/admin/workers/alert/?q=order+77",
    "/admin/desk/incident/",
    "/admin/desk/incident/?is=open",
)


def like(row: M, **columns: Any) -> M:
    """Return a row like another but for some columns."""
    names = [field.attname for field in row._meta.concrete_fields if not field.primary_key]
    return type(row)(**{name: getattr(row, name) for name in names} | columns)


@pytest.fixture
def many_orders(db, monkeypatch) -> None:
    """Fill the tables with what is over, so that few rows are worth looking at."""
    # As few among these as its number is among those of a million orders.
    monkeypatch.setattr(search, "NEWEST_STEPS", 60)
    now = timezone.now()
    over = {"state": "processed", "finished_at": now, "created_at": now}
    processes = Process.objects.bulk_create(
        Process(workflow="fulfilment", version=1, subject=f"Order {n}", **over) for n in range(MANY)
    )
    step = StepFactory.build(process=processes[0], processed=True)
    Step.objects.bulk_create(
        like(step, process_id=process.pk, name=name, idempotency_key=f"{process.uid}:{name}")
        for process in processes
        for name in ("reserve_stock", "charge_payment")
    )
    order = OrderFactory.build(process=None, created_at=now)
    Order.objects.bulk_create(
        like(
            order,
            process_id=process.pk,
            public_id=process.uid,
            secret=f"secret-{n}",
            reference=f"PO-{n}",
            customer_name=f"Ada {n}",
            customer_email=f"ada{n}@example.org",
            total=1 + n % 500,
        )
        for n, process in enumerate(processes)
    )
    Attribute.objects.bulk_create(
        Attribute(process=process, name="order", value=str(n))
        for n, process in enumerate(processes)
    )
    failed = order_in_error()
    job = BulkJob.objects.create(pk=7, verb="resubmit", actor="a", reason="r", created_at=now)
    BulkItem.objects.bulk_create(
        BulkItem(job=job, process=process, sequence=0, state=state)
        for process, state in [
            *((one, "landed") for one in processes[:50]),
            (failed.process, "refused"),
        ]
    )
    with connection.cursor() as cursor:
        for table in (*LARGE, "workers_live", "desk_bulkitem"):
            cursor.execute(f"ANALYZE {table}")


#: What finds the rows, in the order of the list.
INDEXES = (
    ("state=compensated", "process_undone_idx"),
    ("state=pending", "process_open_idx"),
    ("state=error", "process_error_idx"),
    ("needs=someone", "journal_expired_idx"),
    # Looked up one by one, however many the planner expects.
    ("needs=someone", "= ANY ($"),
    ("step=charge_payment", "process_open_idx"),
    ("paused=yes", "process_paused_idx"),
    ("where=order%3D77", "attribute_value_idx"),
)


@pytest.fixture
def client(db) -> Client:
    found = Client()
    found.force_login(get_user_model().objects.create_superuser("root", "root@example.org", "x"))
    return found


def plans(client: Client, url: str) -> list[str]:
    """Return the plans of what finds a page's rows, or counts a pile of the index.

    The fifty rows themselves are read by their keys, for which a planner may read a table as small
    as a test's.
    """
    with CaptureQueriesContext(connection) as captured:
        assert client.get(url).status_code == 200
    found = []
    with connection.cursor() as cursor:
        for query in captured.captured_queries:
            if "LIMIT 1001" in query["sql"] or "SUM(" in query["sql"]:
                cursor.execute("EXPLAIN " + query["sql"])
                found.append("\n".join(row[0] for row in cursor.fetchall()))
    return found


@pytest.mark.postgresql
def test_no_list_reads_a_large_table(client, many_orders):
    for url in ADDRESSES:
        found = plans(client, url)
        assert found, url
        for plan in found:
            read = [table for table in LARGE if f"Seq Scan on {table}" in plan]
            assert not read, f"{url}\n{plan}"
            # Two arrays on one column are tried pair by pair.
            arrays = [line.count("= ANY ($") for line in plan.splitlines()]
            assert max(arrays) < 2, f"{url}\n{plan}"
    for base in (ORDERS, PROCESSES):
        for query, index in INDEXES:
            (plan,) = plans(client, f"{base}?{query}")
            assert index in plan, f"{base}?{query}\n{plan}"


@pytest.mark.postgresql
def test_the_flow_reads_no_steps_of_what_is_over(client, many_orders):
    with CaptureQueriesContext(connection) as captured:
        assert client.get("/admin/workers/flow/").status_code == 200
    asked = [query["sql"] for query in captured.captured_queries if "workers_step" in query["sql"]]
    assert asked
    with connection.cursor() as cursor:
        for sql in asked:
            cursor.execute("EXPLAIN " + sql)
            plan = "\n".join(row[0] for row in cursor.fetchall())
            assert not [table for table in LARGE if f"Seq Scan on {table}" in plan], plan


@pytest.mark.postgresql
def test_an_incident_reads_no_alerts_but_its_own(client, many_orders):
    now = timezone.now()
    known = {"kind": "other", "state": "open", "severity": 2, "opened_at": now, "last_at": now}
    mine, other = (Incident.objects.create(key=key, code="x", **known) for key in "ab")
    ids = list(Process.objects.values_list("pk", flat=True))
    Alert.objects.bulk_create(
        Alert(
            cause=f"x:{number}",
            code="x",
            message="Look",
            process_id=process_id,
            group_id=mine.pk if number < 20 else other.pk,
            raised_at=now,
            last_raised_at=now,
            acknowledged_at=now,
        )
        for number, process_id in enumerate(ids)
    )
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE workers_alert")
    for url in (f"/admin/desk/incident/{mine.pk}/change/", f"{ORDERS}?incident={mine.pk}"):
        with CaptureQueriesContext(connection) as captured:
            assert client.get(url).status_code == 200
        statements = [one["sql"] for one in captured.captured_queries]
        about_alerts = [one for one in statements if '"group_id" =' in one]
        assert about_alerts, url
        with connection.cursor() as cursor:
            for statement in about_alerts:
                cursor.execute("EXPLAIN " + statement)
                plan = "\n".join(row[0] for row in cursor.fetchall())
                assert "Seq Scan on workers_alert" not in plan, f"{statement}\n{plan}"


@pytest.mark.django_db
@pytest.mark.parametrize("base", [ORDERS, PROCESSES])
def test_of_all_that_match_no_more_are_counted_than_a_list_counts(client, base):
    for verb in ("resubmit", "redo", "retry", "pause", "resume", "cancel"):
        form = {"action": f"{verb}_selected", "select_across": "1", "_selected_action": ["1"]}
        with CaptureQueriesContext(connection) as captured:
            client.post(base, form)
        counted = [one["sql"] for one in captured.captured_queries if "COUNT(*)" in one["sql"]]
        assert counted
        assert all("LIMIT 1001" in one for one in counted), counted
