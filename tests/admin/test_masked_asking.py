"""What is masked is not read by asking for it: neither by filters, nor by searches, nor in jobs."""

import pytest
from django.contrib.admin import site
from django.db.models import JSONField, TextField
from django.test import Client, RequestFactory

from orders.models import DeadLetter
from tests.admin.conftest import alert_about, staff
from tests.admin.test_masking import MAIL, NAME, private_letter, private_order
from workers.desk.admin.lists import AskableListAdmin
from workers.desk.models import BulkJob
from workers.desk.operate import jobs
from workers.models import Process
from workers.rules.approved_acts import Act
from workers.store.operate import undo_requests

PRIVATE_COLUMNS = ("customer_name", "customer_email", "customer_address")


@pytest.mark.parametrize(
    ("page", "column"),
    [
        *(
            ("orders/order", f"{name}__startswith")
            for name in (*PRIVATE_COLUMNS, "secret", "body_hash")
        ),
        *(("workers/process", name) for name in ("input__icontains", "input__name__startswith")),
        *(
            ("orders/deadletter", f"{name}__gt")
            for name in ("body", "corrected", "properties", "reasons")
        ),
        *(("workers/alert", f"{name}__icontains") for name in ("message", "params__message")),
        ("workers/process", "lane__startswith"),
        ("workers/alert", "comment__startswith"),
        ("orders/deadletter", "comment__startswith"),
        ("workers/act", "detail__icontains"),
        ("workers/hold", "reason__startswith"),
        *(("desk/bulkjob", f"{name}__icontains") for name in ("reason", "source")),
        *(("workers/undorequest", f"{name}__icontains") for name in ("reason", "comment", "given")),
        *(
            ("orders/apiclient", f"{name}__startswith")
            for name in ("webhook_secret", "old_webhook_secret")
        ),
        *(("desk/route", f"{name}__startswith") for name in ("address", "secret")),
        ("workers/sink", "address__startswith"),
    ],
)
def test_an_address_tells_no_letter_of_what_is_masked(
    operator: Client, page: str, column: str
) -> None:
    private_order()
    assert operator.get(f"/admin/{page}/", {column: "Z"}).status_code == 400


#: Free text and documents of nobody: names out of code, and what was never masked.
ASKABLE = {
    *(("Process", name) for name in ("no_return", "renews", "editable")),
    *(("Route", name) for name in ("kinds", "agents")),
    # Searches and filters by what is masked are left out of it.
    ("SavedView", "query"),
    ("UndoRequest", "undo"),
    ("Product", "description"),
    # What a duty of ours raised: its class and first line.
    ("Lease", "error"),
}


def test_no_list_filters_by_text_field_that_may_hold_personal_data():
    """Whoever adds a column of free text or a document says whether it may be asked for."""
    free = {
        (model.__name__, field.name)
        for model, model_admin in site._registry.items()
        if isinstance(model_admin, AskableListAdmin)
        for field in model._meta.get_fields()
        if isinstance(field, TextField | JSONField) and field.name not in model_admin.never_asked
    }
    assert free == ASKABLE


@pytest.mark.parametrize("beginning", ["z", "zelda.q", "zelda q", "Zelda Quuxmor"])
def test_no_search_reads_who_a_customer_is_letter_by_letter(operator, beginning):
    """Of orders, and of what belongs to one: the whole word, or the right to see it."""
    order = private_order()
    alert_about(order, message=f"write to {MAIL}")
    private_letter()
    DeadLetter.objects.update(comment=f"{NAME} rang", reasons=[{"field": "a", "problem": MAIL}])
    order_url = "/admin/orders/order/"
    for url in (order_url, "/admin/workers/act/", "/admin/workers/alert/", LETTERS):
        assert rows_of(operator, url, beginning) == 0, url
    shower = staff("shower", "show_personal", "view_deadletter")
    assert rows_of(shower, order_url, beginning) == 1
    for whole in (MAIL, MAIL.upper(), NAME, NAME.lower()):
        assert rows_of(operator, order_url, whole) == 1, whole


@pytest.mark.parametrize("words", ["Zelda", "zelda.quuxmore@example.org", "is no"])
def test_only_permitted_user_finds_dead_letter_by_masked_text(operator, words):
    private_letter()
    DeadLetter.objects.update(comment=f"{NAME} rang")
    assert rows_of(operator, LETTERS, words) == 0
    assert rows_of(staff("shower", "show_personal"), LETTERS, words) == 1
    assert rows_of(operator, LETTERS, "m-1") == rows_of(operator, LETTERS, "acme") == 1


def test_reasons_of_jobs_and_requests_are_not_searched(operator):
    order = private_order()
    undo_requests.ask(order.process_id, Act("cancel"), actor="operator:ann", reason=f"{NAME} rang")
    jobs.start("pause", {order.process_id: 0}, actor="operator:ann", reason=MAIL, source={})
    for url in ("/admin/workers/undorequest/", "/admin/desk/bulkjob/"):
        assert rows_of(operator, url, "zelda") == 0, url
        assert rows_of(operator, url, "ann") == 1, url


def test_no_job_keeps_what_its_list_was_searched_for(operator):
    order = private_order()
    sequence = Process.objects.get(pk=order.process_id).sequence
    form = {"seen": f"{order.process_id}:{sequence}", "reason": "stocktaking"}
    asked = "?q=zelda.quuxmore%40example.org&state=error"
    answer = operator.post(f"/admin/orders/order/pause/{asked}", form)
    assert answer.status_code == 302
    assert BulkJob.objects.get().source == {"list": "orders.order", "query": "state=error"}


LETTERS = "/admin/orders/deadletter/"


def rows_of(client: Client, url: str, term: str) -> int:
    response = client.get(url, {"q": term})
    assert response.status_code == 200
    return len(response.context["cl"].result_list)


def test_no_list_is_sorted_by_what_no_address_filters_by(admin_user):
    """Where a row stands beside those of somebody who can make some tells what it begins with."""
    request = RequestFactory().get("/")
    request.user = admin_user
    for model, model_admin in site._registry.items():
        if not isinstance(model_admin, AskableListAdmin):
            continue
        for column in model_admin.get_sortable_by(request):
            by = getattr(getattr(model_admin, column, None), "admin_order_field", column)
            assert str(by).lstrip("-") not in model_admin.never_asked, (model, column)


def test_what_no_address_filters_by_are_fields():
    """A name that is none would guard nothing."""
    for model, model_admin in site._registry.items():
        if isinstance(model_admin, AskableListAdmin):
            names = {field.name for field in model._meta.get_fields()}
            assert set(model_admin.never_asked) <= names, model
