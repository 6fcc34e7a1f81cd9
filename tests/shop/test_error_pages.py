"""Pages for what went wrong."""

import pytest
from django.contrib.auth import get_user_model
from django.db import DatabaseError
from django.http import HttpResponse
from django.template.loader import render_to_string
from django.test import Client

from orders.views import catalogue
from tests.admin.conftest import staff


def test_not_found_is_friendly_and_leads_back(client):
    answer = client.get("/no/such/page/")

    assert answer.status_code == 404
    assert "Nothing on this shelf" in answer.content.decode()
    assert 'href="/"' in answer.content.decode()


def test_a_broken_page_is_friendly_and_needs_no_database(client, monkeypatch):
    def fail(*args: object, **kwargs: object) -> None:
        raise DatabaseError("the database is away")

    monkeypatch.setattr(catalogue, "Basket", fail)
    client.raise_request_exception = False

    answer = client.get("/")

    assert answer.status_code == 500
    assert "Something broke on our side" in answer.content.decode()


def test_the_page_of_a_broken_server_needs_no_request():
    assert "it will not be ordered twice" in render_to_string("500.html")


def test_user_without_permission_is_told_whom_to_ask():
    answer = staff("ann").get("/admin/orders/product/add/")

    assert answer.status_code == 403
    assert "Ask an administrator." in answer.content.decode()
    assert 'href="/admin/"' in answer.content.decode()


def is_framed_by_the_admin(answer: HttpResponse) -> bool:
    html = answer.content.decode()
    is_admin, is_shop = 'id="user-tools"' in html, "orders/shop.css" in html
    assert is_admin != is_shop
    return is_admin


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/admin/orders/product/add/", "You are not allowed to do this"),
        ("/admin/no/such/page/", "Page not found"),
        ("/admin/desk/incident/999999/live/", "Page not found"),
        ("/admin/faults/", "Page not found"),
    ],
)
def test_operators_stay_in_the_admin(path, said, settings):
    settings.FAULT_PAGE = False
    answer = staff("ann").get(path)

    assert is_framed_by_the_admin(answer)
    assert f"<h1>{said}</h1>" in answer.content.decode()
    assert "To operations" in answer.content.decode()


def test_an_operator_in_the_shop_is_in_the_shop():
    assert not is_framed_by_the_admin(staff("ann").get("/no/such/page/"))


def test_an_operator_s_form_without_its_cookie_stays_in_the_admin():
    client = Client(enforce_csrf_checks=True)
    client.force_login(get_user_model().objects.create_user("ann", is_staff=True))
    answer = client.post("/admin/logout/")

    assert answer.status_code == 403
    assert is_framed_by_the_admin(answer)
    assert "Nothing was done." in answer.content.decode()


@pytest.mark.parametrize("path", ["/admin/faults/", "/admin/login/"])
def test_strangers_see_nothing_of_the_admin(path):
    client = Client(enforce_csrf_checks=True)
    assert not is_framed_by_the_admin(client.post(path))
    somebody = get_user_model().objects.create_user("somebody")
    client.force_login(somebody)
    assert not is_framed_by_the_admin(client.post(path))


@pytest.mark.parametrize("page", ["/checkout/", "/admin/login/"])
def test_a_form_without_its_cookie_is_told_what_to_do(page):
    answer = Client(enforce_csrf_checks=True).post(page)

    assert answer.status_code == 403
    assert "Allow cookies for this site" in answer.content.decode()
    assert "Nothing was done." in answer.content.decode()
