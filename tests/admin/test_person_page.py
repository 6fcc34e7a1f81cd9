"""The page of one person: shown, handed out and erased, by those who may."""

import json
from typing import Any

import pytest
from django.test import Client

from orders.models import Order
from tests.admin.conftest import every_row, staff
from tests.admin.test_masking import MAIL, NAME, SECRETS, private_order
from tests.integration.test_erasing import dump, ended_order, secrets_in
from workers.definitions import amounts
from workers.models import Journal, Process

PAGE = "/admin/workers/process/person/"
WHY = "asked by post"


@pytest.fixture
def eraser(db) -> Client:
    return staff("eraser", "erase_person")


def rows() -> dict[str, Any]:
    """Return every row; a visit itself renews the session."""
    return {name: found for name, found in dump().items() if name != "sessions.Session"}


def send(client: Client, do: str, **given: str) -> Any:
    return client.post(PAGE, {"email": MAIL, "reason": "", do: "", **given})


def test_what_would_be_erased_is_shown_masked_and_nothing_changes(eraser):
    ended_order()
    still_open = private_order()
    before = rows()

    html = send(eraser, "look").content.decode()

    assert "Would be erased" in html
    assert "Order of Z***" in html
    assert f"{still_open.process.subject} is error and may still need" in html
    # What somebody typed stands in the form; the rest is masked.
    for secret in set(SECRETS) - {"zelda.quuxmore"}:
        assert secret not in html
    assert rows() == before


def test_it_is_erased_once_it_was_looked_at(eraser):
    order = ended_order()

    answer = send(eraser, "erase", seen=MAIL, reason=WHY)

    assert answer.status_code == 200
    assert "Order of Z***" in answer.content.decode()
    assert secrets_in(dump()) == []
    assert Order.objects.get(pk=order.pk).customer_name == "***"
    row = Journal.objects.get(event="person_erased")
    assert (row.actor, row.detail["reason"]) == ("operator:eraser", WHY)
    # Sent again it finds nothing more.
    assert "nothing" in send(eraser, "erase", seen=MAIL, reason=WHY).content.decode()


@pytest.mark.parametrize(
    ("given", "status", "said"),
    [
        ({"reason": WHY}, 200, "Would be erased"),
        ({"reason": WHY, "seen": "else@example.org"}, 200, "Would be erased"),
        ({"seen": MAIL}, 400, "This field is required."),
        ({"seen": MAIL, "reason": f"{MAIL} wrote"}, 409, "must not name the person"),
        ({"seen": "zelda", "email": "zelda", "reason": WHY}, 400, "Enter a valid email address."),
        ({"seen": "", "email": "", "reason": WHY}, 400, "This field is required."),
    ],
)
def test_nothing_is_erased_unseen_or_without_a_reason(
    eraser: Client, given: dict[str, str], status: int, said: str
) -> None:
    ended_order()
    before = rows()
    answer = send(eraser, "erase", **given)
    assert (answer.status_code, said in answer.content.decode()) == (status, True)
    assert rows() == before


def test_above_the_sum_one_person_erases_nothing(eraser, settings, monkeypatch):
    settings.SAS_TWO_PERSONS_ABOVE = "100"
    monkeypatch.setattr(amounts, "_appraisers", [lambda ids: dict.fromkeys(ids, 101)])
    ended_order()
    html = send(eraser, "erase", seen=MAIL, reason=WHY).content.decode()
    assert "takes two persons" in html
    assert not Process.objects.exclude(erased_at=None).exists()


def test_permitted_user_exports_data_of_person_and_is_journalled():
    order = ended_order()
    client = staff("keeper", "erase_person", "show_personal")
    assert "Export everything" in client.get(PAGE).content.decode()

    answer = send(client, "export")

    assert answer["Content-Type"] == "application/json"
    assert answer["Content-Disposition"] == 'attachment; filename="person.json"'
    assert json.loads(answer.content)["processes"][0]["orders"][0]["customer_name"] == NAME
    row = Journal.objects.get(event="personal_shown", process=order.process)
    assert row.actor == "operator:keeper"


def test_who_may_not_see_personal_data_exports_none(eraser):
    ended_order()
    before = every_row()
    assert "Export everything" not in eraser.get(PAGE).content.decode()
    assert send(eraser, "export").status_code == 403
    assert every_row() == before


def test_the_page_is_for_those_who_may_erase_a_person(operator, eraser):
    before = every_row()
    for answer in (operator.get(PAGE), send(operator, "look"), send(operator, "erase", seen=MAIL)):
        assert answer.status_code == 403
    assert PAGE not in operator.get("/admin/").content.decode()
    assert PAGE in eraser.get("/admin/").content.decode()
    assert eraser.put(PAGE).status_code == 405
    assert every_row() == before
