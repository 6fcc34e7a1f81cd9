"""A dead letter is corrected, looked at once more as a difference, and replayed so."""

import json
from io import StringIO
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.core.management import CommandError, call_command
from django.test import Client

from orders import dead_letters
from orders.letter_corrections import Correction
from orders.models import DeadLetter, Order
from orders.reasons import Refused
from tests.programs import said
from tests.queue_door.sending import BODY
from tests.queue_door.test_admin import LIST, letter_of, staff

pytestmark = pytest.mark.django_db
WRONG = BODY | {"lines": [{"sku": "SKU-001", "quantity": 20_000}], "gift": True}


@pytest.fixture
def letter(make) -> DeadLetter:
    return letter_of(make("k1", body=WRONG))


@pytest.fixture
def operator(db) -> Client:
    return staff("ann", "resolve_dead_letter", "correct_dead_letter")


@pytest.fixture
def shower(db) -> Client:
    return staff("sue", "correct_dead_letter", "show_personal")


def url_of(letter: DeadLetter) -> str:
    return f"{LIST}{letter.pk}/correct/"


def typed(client: Client, letter: DeadLetter, **changes: Any) -> dict[str, Any]:
    """Return what a browser sends of the form as it is shown, with some of it changed."""
    form = client.get(url_of(letter)).context["form"]
    shown = {name: form[name].value() for name in form.fields}
    names = {path: name for name, path in form.names.items()}
    given = {name: "" if value is None else value for name, value in shown.items()}
    given |= {names.get(path.replace("__", "."), path): value for path, value in changes.items()}
    return {name: value for name, value in given.items() if value is not False} | {
        "reason": given.get("reason") or "asked them"
    }


def test_fields_are_corrected_shown_and_replayed(operator, letter):
    data = typed(operator, letter, lines="SKU-001 3", without="on", reference="cart-2")
    page = operator.post(url_of(letter), data)
    assert page.status_code == 200
    paths = [change["path"] for change in page.context["diff"]]
    assert paths == ["lines.0.quantity", "reference", "gift"]
    html = page.content.decode()
    assert "<del>20000</del>" in html
    assert "<ins>3</ins>" in html
    assert not Order.objects.exists()

    done = operator.post(url_of(letter), data | {"confirm": "yes"}, follow=True)

    order = Order.objects.get()
    assert (order.submission_key, order.reference) == ("k1", "cart-2")
    assert [line.quantity for line in order.lines.all()] == [3]
    letter.refresh_from_db()
    assert (letter.state, letter.order_id) == ("replayed", order.pk)
    assert letter.comment.endswith("corrected and replayed by operator:ann: asked them")
    assert json.loads(bytes(letter.body))["gift"] is True, "what came is kept"
    assert json.loads(bytes(letter.corrected))["lines"] == [{"sku": "SKU-001", "quantity": 3}]
    assert "Replayed instead of the body" in done.content.decode()
    assert LogEntry.objects.get().change_message == "Correct and replay asked them"


def test_what_is_still_wrong_is_said_before_anything_is_sent(operator, letter):
    page = operator.post(url_of(letter), typed(operator, letter, lines="SKU-001 0"))
    assert page.status_code == 409
    assert "lines.0.quantity" in page.content.decode()
    assert 'name="confirm"' not in page.content.decode()
    refused = operator.post(
        url_of(letter), typed(operator, letter, lines="SKU-001 0") | {"confirm": "yes"}
    )
    assert refused.status_code == 409
    assert not Order.objects.exists()


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({}, "No changes"),
        ({"lines": "SKU-001 two"}, "A line must be a sku and a quantity, got SKU-001 two."),
        ({"reference": "sas_0123abcd_secret"}, "must hold no token"),
    ],
)
def test_what_cannot_be_a_correction_is_refused(operator, letter, changes, why):
    page = operator.post(url_of(letter), typed(operator, letter, **changes))
    assert page.status_code == 400
    assert why in page.content.decode()


def test_it_can_be_edited_again(operator, letter):
    data = typed(operator, letter, lines="SKU-001 3", without="on") | {"edit": "yes"}
    page = operator.post(url_of(letter), data)
    assert page.status_code == 200
    assert page.context["diff"] == []
    assert "SKU-001 3" in page.content.decode()


def test_personal_data_stay_masked_and_stay_what_they_are(operator, letter):
    html = operator.get(url_of(letter)).content.decode()
    assert "Lovelace" not in html
    assert "1 Mill Lane" not in html
    assert "Now A***. Left empty, it stays so." in html
    assert 'name="raw"' not in html
    data = typed(operator, letter, lines="SKU-001 3", without="on", customer__address="2 Mill Lane")
    page = operator.post(url_of(letter), data)
    html = page.content.decode()
    assert "1 Mill Lane" not in html
    assert "2 Mill Lane" in html, "what was typed is the operator's own"
    operator.post(url_of(letter), data | {"confirm": "yes"})
    order = Order.objects.get()
    assert (order.customer_name, order.customer_address) == ("Ada Lovelace", "2 Mill Lane")


def test_raw_json_correction_requires_showing_personal_data_first(shower, make):
    letter = letter_of(make("k1", body=b'{"customer": NaN}'))
    masked = shower.get(url_of(letter)).content.decode()
    assert 'name="raw"' not in masked
    assert (
        "Show personal data"
        in shower.post(url_of(letter), {"message_id": "k1", "reason": "x"}).content.decode()
    )
    shower.post(f"{LIST}{letter.pk}/show/")
    assert "&quot;customer&quot;: NaN" in shower.get(url_of(letter)).content.decode()
    data = {"message_id": "k1", "reason": "x", "raw": "{"}
    assert "cannot be read" in shower.post(url_of(letter), data).content.decode()
    data["raw"] = json.dumps(BODY)
    page = shower.post(url_of(letter), data)
    assert [change["path"] for change in page.context["diff"]] == ["the message"]
    shower.post(url_of(letter), data | {"confirm": "yes"})
    assert Order.objects.get().customer_name == "Ada Lovelace"


def test_a_key_that_was_missing_is_given(operator, make):
    letter = letter_of(make("", body=BODY))
    page = operator.post(url_of(letter), typed(operator, letter, message_id="given-1"))
    assert [change["path"] for change in page.context["diff"]] == ["message_id"]
    operator.post(url_of(letter), typed(operator, letter, message_id="given-1") | {"confirm": "y"})
    assert Order.objects.get().submission_key == "given-1"


def test_an_unproven_sender_is_marked_and_has_to_be_stood_for(operator, make):
    letter = letter_of(make("k1", body=WRONG, headers={"token": "x"}))
    html = operator.get(url_of(letter)).content.decode()
    assert "not proven" in html
    data = typed(operator, letter, lines="SKU-001 3", without="on")
    assert operator.post(url_of(letter), data | {"confirm": "yes"}).status_code == 409
    assert not Order.objects.exists()
    operator.post(url_of(letter), data | {"confirm": "yes", "unproven": "on"})
    letter.refresh_from_db()
    assert "corrected and replayed as unproven" in letter.comment


def test_it_has_a_right_of_its_own(letter):
    resolver = staff("rob", "resolve_dead_letter")
    assert resolver.get(url_of(letter)).status_code == 403
    assert resolver.post(url_of(letter), {}).status_code == 403
    assert url_of(letter) not in resolver.get(f"{LIST}{letter.pk}/change/").content.decode()
    corrector = staff("cor", "correct_dead_letter")
    assert url_of(letter) in corrector.get(f"{LIST}{letter.pk}/change/").content.decode()


def test_one_that_is_resolved_is_corrected_no_more(operator, letter):
    data = typed(operator, letter, lines="SKU-001 3", without="on")
    dead_letters.discard(letter.pk, actor="a", reason="b")
    assert operator.post(url_of(letter), data | {"confirm": "yes"}).status_code == 409
    assert not Order.objects.exists()
    assert url_of(letter) not in operator.get(f"{LIST}{letter.pk}/change/").content.decode()


def test_a_correction_that_is_refused_keeps_nothing(letter):
    before = DeadLetter.objects.values().get()
    with pytest.raises(Refused):
        dead_letters.replay(letter.pk, actor="a", correction=Correction(b"{}", "k1"))
    assert DeadLetter.objects.values().get() == before


def test_marks_of_direction_are_visible_in_the_difference(operator, make):
    letter = letter_of(make("k1", body=WRONG | {"reference": "a\u202eb"}))
    data = typed(operator, letter, lines="SKU-001 3", without="on", reference="ok")
    html = operator.post(url_of(letter), data).content.decode()
    assert "<del>a\\u202eb</del>" in html


def test_the_terminal_does_the_same(letter, tmp_path):
    file = tmp_path / "order.json"
    file.write_text(json.dumps(BODY))

    def run(*words: Any) -> str:
        return said("dead_letters", "correct", letter.pk, *words)

    shown = run("--body", str(file), "--reason", "asked them", "--dry-run")
    assert "lines.0.quantity: 20000 -> 2" in shown
    assert "gift: true -> nothing" in shown
    assert "would be an order" in shown
    assert not Order.objects.exists()
    assert "is replayed: order" in run("--body", str(file), "--reason", "asked them")
    letter.refresh_from_db()
    assert "corrected and replayed" in letter.comment


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["correct", "1", "2", "--reason", "x"], "give the id of one that there is"),
        (["correct", "99", "--reason", "x"], "give the id of one that there is"),
        (["correct", "{pk}"], "Say why"),
        (["correct", "{pk}", "--reason", "x"], "No changes"),
        (
            ["correct", "{pk}", "--reason", "x", "--body", "/gone"],
            "must be a file that can be read",
        ),
        (["correct", "{pk}", "--reason", "x", "--message-id", "k2"], "gift: is not a known field"),
    ],
)
def test_the_terminal_says_what_is_missing(letter, words, why):
    given = [word.format(pk=letter.pk) for word in words]
    with pytest.raises(CommandError, match=why.replace(".", r"\.")):
        call_command("dead_letters", *given, stdout=StringIO())
