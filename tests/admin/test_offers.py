"""What a page offers: only what is possible now and permitted, also where it is about an order."""

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.test import Client

from tests.admin import toys
from tests.admin.conftest import order_in_error, order_with, staff
from tests.admin.test_verbs import CASES, PROCESS
from workers.models import Journal


def offered(client: Client, url: str) -> set[str]:
    """Return the verbs that a page offers, with their steps."""
    shown = client.get(url).context["offers"]
    steps = {f"{name}:{offer.name}" for name, some in shown.steps.items() for offer in some}
    return {offer.name for offer in shown.process} | steps


def test_a_process_offers_what_the_engine_would_do(operator, wire):
    process = toys.asked(wire)
    assert offered(operator, f"{PROCESS}/{process.pk}/change/") == {
        "pause",
        "compensate",
        "cancel",
        "first:begin_again",
        "ask:answer",
        "ask:retime",
        "ask:complete",
        "ask:skip",
        "ask:begin_again",
        "then:retime",
    }


def test_a_process_that_is_over_offers_nothing(operator, wire):
    process = toys.asked(wire)
    toys.done(wire, process)
    assert offered(operator, f"{PROCESS}/{process.pk}/change/") == set()


def test_a_viewer_is_offered_nothing(viewer, wire):
    process = toys.asked(wire)
    assert offered(viewer, f"{PROCESS}/{process.pk}/change/") == set()


def test_the_part_that_is_polled_offers_the_same(operator, wire):
    process = toys.asked(wire)
    live = f"{PROCESS}/{process.pk}/live/"
    assert offered(operator, live) == offered(operator, f"{PROCESS}/{process.pk}/change/")


def test_an_order_offers_the_same_for_its_process_and_is_gone_back_to(operator):
    order = order_in_error()
    page = f"/admin/orders/order/{order.number}/change/"
    url = f"{PROCESS}/{order.process_id}/pause/?from=subject"

    html = operator.get(page).content.decode()
    assert f'href="{url}"' in html
    assert f'href="{PROCESS}/{order.process_id}/steps/charge_payment/skip/?from=subject"' in html

    assert f'<a href="{page}">' in operator.get(url).content.decode()
    response = operator.post(url, CASES["pause"].filled(order.process))
    assert response["Location"] == page


def test_an_order_keeps_its_own_way_of_resubmitting():
    order = order_in_error()
    clerk, engineer = staff("clerk", "resubmit_order"), staff("engineer", "resubmit_process")
    page = f"/admin/orders/order/{order.number}/change/"
    own, engines = f"/admin/orders/order/{order.number}/resubmit/", f"{PROCESS}/{order.process_id}/"

    assert f'href="{own}"' in clerk.get(page).content.decode()
    assert f"{engines}resubmit/" not in clerk.get(page).content.decode()
    assert "resubmit/" not in engineer.get(page).content.decode()
    assert clerk.get(f"{engines}resubmit/").status_code == 403
    assert engineer.get(own).status_code == 403


def test_user_who_may_not_see_processes_is_redirected_home_after_verb(wire):
    order = order_with(charge_payment="started")
    client = staff("only", "pause_process")
    _forbid_looking()
    response = client.post(
        f"{PROCESS}/{order.process_id}/pause/", CASES["pause"].filled(order.process)
    )
    assert (response.status_code, response["Location"]) == (302, "/admin/")
    assert Journal.objects.filter(event="paused").count() == 1


def _forbid_looking() -> None:
    user = get_user_model().objects.get(username="only")
    user.user_permissions.remove(*Permission.objects.filter(codename="view_process"))
