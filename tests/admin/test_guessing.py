"""What a list must not tell letter by letter: secrets in columns that it does not show."""

import pytest

from tests.factories import OrderFactory, SinkFactory
from workers.models import Flow, Sink
from workers.supervisor import beat_schedule


@pytest.mark.parametrize("lookup", ["secret__startswith", "secret", "secret__regex"])
def test_an_order_cannot_be_found_by_its_secret(viewer, lookup):
    order = OrderFactory()

    answer = viewer.get("/admin/orders/order/", {lookup: order.secret[:1]})

    assert answer.status_code == 400


@pytest.fixture
def sink(db) -> Sink:
    return SinkFactory(
        process=OrderFactory().process,
        kind="webhook",
        address="https://example.org/hook?token=very-secret",
    )


def test_a_webhook_cannot_be_found_by_its_address(viewer, sink):
    lookup = {"address__contains": "very"}
    assert viewer.get("/admin/workers/sink/", lookup).status_code == 400

    found = viewer.get("/admin/workers/sink/", {"q": "very-secret"})

    assert found.context["cl"].result_count == 0


def test_htmx_config_precedes_htmx_script_on_admin_pages(viewer, sink):
    """Without it htmx writes a style into the page, which the policy forbids, and may evaluate."""
    beat_schedule.ensure_flow()
    pages = [f"/admin/workers/sink/{sink.pk}/change/"]
    for model in ("flow", "lease", "alert", "process", "sink"):
        pages.append(f"/admin/workers/{model}/")
    for pk in Flow.objects.values_list("pk", flat=True)[:1]:
        pages.append(f"/admin/workers/flow/{pk}/change/")
    for page in pages:
        text = viewer.get(page).content.decode()
        assert 0 < text.index('name="htmx-config"') < text.index("htmx-2.min.js"), page


def test_what_follows_an_address_is_on_no_page(viewer, sink):
    for page in ("/admin/workers/sink/", f"/admin/workers/sink/{sink.pk}/change/"):
        shown = viewer.get(page).content.decode()

        assert "example.org/hook" in shown
        assert "very-secret" not in shown
