"""State is the store's: nobody adds, edits or deletes its rows here, not even a superuser."""

import pytest
from django.contrib import admin
from django.contrib.auth import get_user_model
from django.core.exceptions import PermissionDenied
from django.test import Client

from orders.models import Order
from tests.admin.conftest import alert_about, every_row, order_in_error
from workers.models import Alert, Flow, Journal, Lease, Process, Step
from workers.store import leases
from workers.supervisor import beat_schedule

MODELS = (Order, Process, Alert, Flow, Lease)


@pytest.fixture
def root(db) -> Client:
    client = Client()
    client.force_login(get_user_model().objects.create_superuser("root"))
    return client


@pytest.fixture
def rows(db) -> dict[type, object]:
    order = order_in_error()
    alert = alert_about(order)
    beat_schedule.ensure_flow()
    leases.is_due("sweep", 1)
    return {
        Order: order.number,
        Process: order.process_id,
        Alert: alert.pk,
        Flow: "payment.charge",
        Lease: "sweep",
    }


@pytest.mark.parametrize("model", MODELS)
def test_no_row_is_added_changed_or_deleted(root, rows, model):
    base = f"/admin/{model._meta.app_label}/{model._meta.model_name}"
    pk = rows[model]
    before = every_row()
    assert root.get(f"{base}/").status_code == 200
    assert root.get(f"{base}/{pk}/change/").status_code == 200
    assert root.get(f"{base}/add/").status_code == 403
    assert root.post(f"{base}/add/", {}).status_code == 403
    assert root.post(f"{base}/{pk}/change/", {"state": "processed"}).status_code == 403
    assert root.get(f"{base}/{pk}/delete/").status_code == 403
    assert root.post(f"{base}/{pk}/delete/", {"post": "yes"}).status_code == 403
    root.post(f"{base}/", {"action": "delete_selected", "_selected_action": [pk], "post": "yes"})
    assert every_row() == before
    assert Flow.objects.exists()
    assert Lease.objects.exists()


@pytest.mark.parametrize("model", MODELS)
def test_the_admin_itself_refuses_to_write(rf, model):
    registered = admin.site._registry[model]
    for write in (registered.save_model, registered.delete_model, registered.delete_queryset):
        with pytest.raises(PermissionDenied):
            write(rf.get("/"), None)


def test_steps_and_journal_have_no_admin_of_their_own():
    assert not admin.site.is_registered(Step)
    assert not admin.site.is_registered(Journal)


@pytest.mark.parametrize("model", MODELS)
def test_a_viewer_sees_every_list_and_page(viewer, rows, model):
    base = f"/admin/{model._meta.app_label}/{model._meta.model_name}"
    assert viewer.get(f"{base}/").status_code == 200
    assert viewer.get(f"{base}/{rows[model]}/change/").status_code == 200


def test_staff_without_permissions_see_nothing(rows):
    client = Client()
    client.force_login(get_user_model().objects.create_user("new", is_staff=True))
    number, process = rows[Order], rows[Process]
    for path in (
        "orders/order/",
        f"orders/order/{number}/change/",
        f"orders/order/{number}/live/",
        f"orders/order/{number}/resubmit/",
        "workers/alert/",
        f"workers/process/{process}/change/",
        f"workers/process/{process}/live/",
    ):
        assert client.get(f"/admin/{path}").status_code == 403, path
    assert "order in error" not in client.get("/admin/").content.decode()


@pytest.mark.parametrize("path", ["", "orders/order/", "orders/order/needs/", "workers/alert/"])
def test_strangers_are_sent_to_sign_in(client, db, path):
    assert client.get(f"/admin/{path}").status_code == 302
