"""Attributes in the desk: found by the bar and by their value, listed, masked, never journalled."""

import csv

import pytest

from tests.admin.conftest import staff
from tests.programs import said
from workers import submit
from workers.definitions import registry
from workers.desk.admin import search
from workers.desk.models import BulkJob, SavedView
from workers.models import Journal

LIST = "/admin/workers/process/"
ANN = "ann@example.org"


def named(subject, **attributes):
    return submit("toy_named", subject=subject, input={}, attributes=attributes)


def subjects(client, **query):
    """Return the subjects that a list shows, of processes called "Bill N"."""
    html = client.get(LIST, query, follow=True).content.decode()
    rows = html.partition('id="result_list"')[2].partition("</table>")[0]
    return [name for name in ("Bill 1", "Bill 2", "Bill 3") if name in rows]


@pytest.fixture
def bills(db):
    return [
        named("Bill 1", customer=7, plan="very pro", email=ANN),
        named("Bill 2", customer=7, plan="free"),
        named("Bill 3", customer=8, plan="free"),
    ]


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("customer=7", ["Bill 1", "Bill 2"]),
        ("customer=7 plan=free", ["Bill 2"]),
        ('plan="very pro" state:pending', ["Bill 1"]),
        ("customer=7 state:error", []),
        (f"email={ANN}", ["Bill 1"]),
        ("7", ["Bill 1", "Bill 2"]),
        (ANN, ["Bill 1"]),
        ("ann", []),
    ],
)
def test_bar_takes_attributes_and_text_is_a_whole_value(viewer, bills, typed, found):
    assert subjects(viewer, q=typed) == found


def test_words_lead_to_an_address_that_says_them(viewer, bills):
    answer = viewer.get(LIST, {"q": 'customer=7 plan="very pro" paused'})
    assert answer.url == f"{LIST}?paused=yes&where=customer%3D7+plan%3D%22very+pro%22"


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ("customer=seven", "customer must be a value of type int, got seven."),
        ("customer=7 customer=8", "customer=8 is there twice. Leave one."),
        ("custmer=7", "custmer= is no attribute. Did you mean customer=?"),
    ],
)
def test_wrong_attribute_is_named_and_nothing_is_searched(viewer, bills, typed, says):
    html = viewer.get(LIST, {"q": typed}).content.decode()
    assert says in html


@pytest.mark.parametrize("where", ["customer", "customer=x", "gone=7", "customer=7 gone=7"])
def test_address_that_names_no_attribute_finds_nothing(viewer, bills, where):
    assert subjects(viewer, where=where) == []


def test_other_lists_find_processes_by_attributes_too(bills):
    assert search.newest("7") == [bills[1].pk, bills[0].pk]


def test_list_and_page_mask_what_is_personal(viewer, bills):
    html = viewer.get(LIST).content.decode()
    assert "<code>customer=7</code>" in html
    assert "<code>email=a***@example.org</code>" in html
    page = viewer.get(f"{LIST}{bills[0].pk}/change/").content.decode()
    assert "<dt>customer</dt><dd>7</dd>" in page
    assert "<dt>email</dt><dd>a***@example.org</dd>" in page
    assert ANN not in html + page


def test_page_shows_personal_attribute_to_who_may_see_it(bills):
    shower = staff("shower", "show_personal")
    page = shower.post(f"{LIST}{bills[0].pk}/show/", follow=True).content.decode()
    assert f"<dt>email</dt><dd>{ANN}</dd>" in page


def test_list_has_no_column_where_nobody_declares_attributes(viewer, monkeypatch):
    submit("toy_line", subject="Toy", input={})
    assert "column-known_by" in viewer.get(LIST).content.decode()
    plain = {key: flow for key, flow in registry._workflows.items() if not flow.attributes}
    monkeypatch.setattr(registry, "_workflows", plain)
    assert "column-known_by" not in viewer.get(LIST).content.decode()


def test_file_has_attributes_masked_and_journal_has_no_person(viewer, bills):
    response = viewer.get(f"{LIST}csv/", {"where": f"email={ANN}"})
    rows = list(csv.DictReader(b"".join(response).decode("utf-8-sig").splitlines()))
    assert [row["attributes"] for row in rows] == [
        "customer=7 email=a***@example.org plan=very pro"
    ]
    assert Journal.objects.get(event="exported").detail["query"] == "where=%2A%2A%2A"


def test_view_keeps_attributes_that_are_not_personal(viewer, bills):
    def save(where):
        form = {"list": "workers.process", "query": f"where={where}", "name": "Mine"}
        return viewer.post("/admin/desk/savedview/save/", form, follow=True).content.decode()

    assert "A view keeps no personal data, and email is personal." in save(f"email%3D{ANN}")
    assert not SavedView.objects.exists()
    assert "Saved as “Mine”." in save("customer%3D7")
    assert subjects(viewer, where="customer=7") == ["Bill 1", "Bill 2"]


def test_selection_of_a_personal_attribute_leaves_no_person_in_the_job(operator, bills):
    url = f"{LIST}?where=email%3D{ANN}"
    seen = f"{bills[0].pk}:1"
    answer = operator.post(
        f"{LIST}pause/?where=email%3D{ANN}", {"seen": seen, "reason": "wait", "rate": ""}
    )
    assert answer.status_code == 302, url
    assert BulkJob.objects.get().source == {"list": "workers.process", "query": ""}


def test_job_acts_on_those_with_an_attribute(bills):
    job = ("sas", "jobs", "start", "pause", "--reason", "wait", "--where")
    said(*job, "customer=7", "--where", "plan=free")
    said(*job, f"email={ANN}")

    first, second = BulkJob.objects.order_by("pk")
    assert (first.total, first.source) == (1, {"where": "customer=7 plan=free"})
    assert (second.total, second.source) == (1, {"where": "email=***"})


def test_terminal_shows_attributes_of_a_process_masked(bills):
    shown = said("sas", "process", "show", str(bills[0].pk))
    assert "customer: 7\nemail: a***@example.org\nplan: very pro\n" in shown
