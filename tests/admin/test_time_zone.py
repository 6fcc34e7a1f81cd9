"""Every user of the admin sees times in the zone they chose, and its name beside each."""

from datetime import UTC, datetime
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from orders.models import Order
from tests.admin.conftest import note, order_in_error, staff
from workers.desk.models import Preferences
from workers.desk.store import preferences
from workers.exceptions import StateError
from workers.models import Journal, Process

URL = "/admin/desk/preferences/"
AT = datetime(2026, 1, 15, 22, 30, 5, tzinfo=UTC)


def order() -> Order:
    found = order_in_error()
    note(found, "resubmitted", actor="operator:ann", at=AT)
    Process.objects.filter(pk=found.process_id).update(deadline_at=AT)
    return found


def page(client: Client, found: Order) -> str:
    return client.get(f"/admin/orders/order/{found.number}/change/").content.decode()


def test_without_a_choice_times_are_in_the_zone_of_the_installation(operator):
    html = page(operator, order())
    assert "2026-01-15 22:30:05 UTC" in html
    assert f'All times are <a class="sas-zone-link" href="{URL}">UTC</a>' in html


@pytest.mark.parametrize(
    ("zone", "told"),
    [
        ("Europe/Paris", "2026-01-15 23:30:05 CET"),
        ("Asia/Tokyo", "2026-01-16 07:30:05 JST"),
        ("America/Sao_Paulo", "2026-01-15 19:30:05 -03"),
    ],
)
def test_times_are_in_the_zone_that_the_user_chose_and_named(operator, zone, told):
    found = order()
    answer = operator.post(URL, {"time_zone": zone})
    assert answer.status_code == 302

    html = page(operator, found)
    assert told in html
    assert "UTC" not in html
    assert f'">{zone}</a>' in html
    live = operator.get(f"/admin/orders/order/{found.number}/live/").content.decode()
    assert told in live
    # The picture says in which zone its axis is.
    assert f'Times in <a href="{URL}">{told.rpartition(" ")[2]}</a>.' in live


def test_every_instant_stands_with_its_zone(operator):
    """Of each element that is a time either the text or, of a span, its title names the zone."""
    operator.post(URL, {"time_zone": "Asia/Tokyo"})
    found = order()
    for url in (
        f"/admin/orders/order/{found.number}/change/",
        "/admin/orders/order/",
        "/admin/workers/process/",
    ):
        html = operator.get(url).content.decode()
        times = html.split("<time")[1:]
        assert times, url
        for one in times:
            assert "JST" in one.partition("</time>")[0], (url, one[:200])


def test_another_user_keeps_their_own(operator, viewer):
    found = order()
    operator.post(URL, {"time_zone": "Asia/Tokyo"})
    assert "JST" in page(operator, found)
    assert "JST" not in page(viewer, found)


def test_it_is_kept_for_the_next_login(operator):
    operator.post(URL, {"time_zone": "Asia/Tokyo"})
    again = Client()
    again.force_login(get_user_model().objects.get(username="operator"))
    assert "JST" in page(again, order())


def test_no_zone_outlives_its_request(operator):
    operator.post(URL, {"time_zone": "Asia/Tokyo"})
    page(operator, order())
    assert timezone.get_current_timezone_name() == "UTC"


def test_a_page_costs_no_query_for_it(operator):
    found = order()
    page(operator, found)
    with CaptureQueriesContext(connection) as queries:
        page(operator, found)
    assert not [one for one in queries if "preferences" in one["sql"]]
    assert len(queries) <= 14


def test_the_choice_can_be_taken_back(operator):
    operator.post(URL, {"time_zone": "Asia/Tokyo"})
    operator.post(URL, {"time_zone": ""})
    assert "JST" not in page(operator, order())
    assert Preferences.objects.get().time_zone == ""


@pytest.mark.parametrize("name", ["Mars/Olympus", "../../etc/passwd", "x" * 100, "utc\x00"])
def test_what_is_no_time_zone_is_refused(operator, name):
    assert operator.post(URL, {"time_zone": name}).status_code == 400
    with pytest.raises(StateError, match="must be a name such as Europe/Paris"):
        preferences.set_time_zone(get_user_model().objects.get().pk, name)
    assert not Preferences.objects.exists()


def test_a_zone_that_this_machine_does_not_know_is_as_good_as_none(operator):
    user: Any = get_user_model().objects.get(username="operator")
    Preferences.objects.create(user=user, time_zone="Gone/Away")
    assert "2026-01-15 22:30:05 UTC" in page(operator, order())


def test_only_staff_user_may_choose_time_zone():
    clerk = Client()
    clerk.force_login(get_user_model().objects.create_user("clerk", is_staff=True))
    assert clerk.post(URL, {"time_zone": "Asia/Tokyo"}).status_code == 302
    buyer = Client()
    buyer.force_login(get_user_model().objects.create_user("buyer"))
    for stranger in (Client(), buyer):
        assert stranger.get(URL).url.startswith("/admin/login/")  # type: ignore[attr-defined]
        stranger.post(URL, {"time_zone": "Asia/Tokyo"})
    assert Preferences.objects.count() == 1


def test_nothing_else_is_written(operator):
    staff("other")
    before = list(Journal.objects.values())
    operator.post(URL, {"time_zone": "Asia/Tokyo"})
    assert list(Journal.objects.values()) == before
    assert [row.user.username for row in Preferences.objects.all()] == ["operator"]


def test_a_user_who_has_chosen_can_be_deleted():
    users = get_user_model().objects
    boss, gone = users.create_superuser("boss"), users.create_user("gone", is_staff=True)
    preferences.set_time_zone(gone.pk, "Europe/Paris")
    client = Client()
    client.force_login(boss)
    answer = client.post(f"/admin/auth/user/{gone.pk}/delete/", {"post": "yes"})
    assert answer.status_code == 302
    assert not users.filter(pk=gone.pk).exists()
    assert not Preferences.objects.exists()
