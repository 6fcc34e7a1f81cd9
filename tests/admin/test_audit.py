"""The audit: everything that people did, in the admin and in terminals alike."""

import csv
from datetime import timedelta

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from orders import dead_letters
from orders.models import DeadLetter, Product
from tests.admin.conftest import alert_about, note, order_in_error, staff
from tests.admin.test_masking import ADDRESS, NAME, found, private_letter, private_order
from workers.client import operations
from workers.desk.admin import csv_files
from workers.desk.admin.act_lines import acts_alone
from workers.desk.store import jobs
from workers.models import Act, Alert, Attribute, Journal, Process
from workers.store import journal
from workers.store.flow import flow_settings, holds
from workers.supervisor import beat_schedule

LIST = "/admin/workers/act/"
WORD = {"actor": "operator:ann", "reason": "stocktaking"}


def html_of(client: Client, query: str = "") -> str:
    response = client.get(LIST + query)
    assert response.status_code == 200
    return response.content.decode()


def rows_of(client: Client, query: str = "") -> list[list[str]]:
    response = client.get(f"{LIST}csv/{query}")
    return list(csv.reader(b"".join(response).decode("utf-8-sig").splitlines()))  # type: ignore[arg-type]


def events(client: Client, query: str = "") -> list[str]:
    return [row[2] for row in rows_of(client, query)[1:]]


def test_it_has_a_right_of_its_own(viewer):
    assert viewer.get(LIST).status_code == 200
    clerk = Client()
    clerk.force_login(get_user_model().objects.create_user("clerk", is_staff=True))
    assert clerk.get(LIST).status_code == 403
    assert clerk.get(f"{LIST}csv/").status_code == 403
    assert clerk.post(f"{LIST}csv/").status_code == 403


def test_it_shows_what_people_did_and_nothing_else(viewer):
    order = order_in_error()
    note(order, "claimed")
    note(order, "paused", actor="operator:ann", detail={"reason": "stocktaking"})
    holds.hold("agent", "payment.charge", **WORD)
    note(order, "deadline_passed", actor="scheduler@one")
    html = html_of(viewer)
    assert "Paused by an operator" in html
    assert f'href="/admin/orders/order/{order.number}/change/"' in html
    assert "stocktaking" in html
    assert "payment.charge" in html
    assert html.count('class="field-when') == 2


def test_what_only_followed_is_hidden_until_it_is_asked_for(viewer):
    order = order_in_error()
    for event in ("compensating", "cancelled"):
        note(order, event, actor="operator:ann")
    assert events(viewer) == ["compensating"]
    assert events(viewer, "?rows=all") == ["exported", "cancelled", "compensating"]


def test_it_is_filtered_by_person_verb_time_and_job(viewer):
    order, other = order_in_error(), order_in_error()
    long_ago = timezone.now() - timedelta(days=20)
    note(order, "paused", actor="operator:ann", at=long_ago)
    note(other, "unpaused", actor="operator:bob", at=timezone.now())
    assert events(viewer, "?by=ann") == ["paused"]
    assert events(viewer, "?verb=unpaused") == ["unpaused"]
    week = (timezone.now() - timedelta(days=7)).isoformat().replace("+", "%2B")
    assert events(viewer, f"?at__gte={week}&by=bob") == ["unpaused"]
    html = html_of(viewer)
    for link in ("?by=ann", "?by=bob", "?verb=paused", "Past 7 days"):
        assert link in html


def test_a_job_s_acts_are_those_on_it_and_those_by_it(viewer):
    inside, outside = order_in_error(), order_in_error()
    job_id = jobs.create("pause", {inside.process_id: 0}, source={"list": "x"}, **WORD)
    while not jobs.work(job_id, 50).is_over:
        pass
    other = jobs.create("pause", {outside.process_id: 0}, source={"list": "x"}, **WORD)
    note(inside, "retried", actor="operator:bob", at=timezone.now())
    note(inside, "unpaused", actor=WORD["actor"], at=timezone.now() + timedelta(hours=1))
    assert events(viewer, f"?job={job_id}") == ["paused", "job_started"]
    html = html_of(viewer, f"?job={job_id}")
    # Its own row, and the one of what it did; not what the same person did elsewhere.
    assert html.count(f'href="/admin/desk/bulkjob/{job_id}/change/"') == 2
    operations.pause(outside.process_id, actor=WORD["actor"], reason="by hand")
    whole = html_of(viewer)
    assert whole.count(f'href="/admin/desk/bulkjob/{job_id}/change/"') == 2
    assert whole.count(f'href="/admin/desk/bulkjob/{other}/change/"') == 1
    page = viewer.get(f"/admin/desk/bulkjob/{job_id}/change/").content.decode()
    assert f'href="/admin/workers/act/?job={job_id}"' in page
    assert str(outside) not in html
    for query in ("?job=0", "?job=nonsense"):
        assert events(viewer, query) == []


def test_act_links_to_job_only_for_user_who_may_see_jobs(viewer):
    job_id = jobs.create("pause", {order_in_error().process_id: 0}, source={}, **WORD)
    link = f'href="/admin/desk/bulkjob/{job_id}/change/"'
    assert link in html_of(viewer)
    auditor = get_user_model().objects.create_user("auditor", is_staff=True)
    auditor.user_permissions.add(Permission.objects.get(codename="view_act"))
    client = Client()
    client.force_login(auditor)
    html = html_of(client)
    assert f"job {job_id}" in html
    assert link not in html


def test_it_is_searched_by_person_process_and_order(viewer):
    order, other = order_in_error(), order_in_error()
    note(order, "paused", actor="operator:ann")
    note(other, "unpaused", actor="operator:bob")
    Process.objects.filter(pk=order.process_id).update(submission_key="key-of-one")
    Attribute.objects.create(process=order.process, name="order", value=order.number)
    for term in ("ann", order.process.subject, "key-of-one", str(order.number)):
        assert events(viewer, f"?q={term}") == ["paused"], term
    assert events(viewer, "?q=nobody") == []


def test_a_page_shows_one_act_whole(viewer):
    holds.hold("agent", "payment.charge", **WORD)
    row = Journal.objects.get(event="held")
    html = viewer.get(f"{LIST}{row.pk}/change/").content.decode()
    assert "stocktaking" in html
    assert "&quot;kind&quot;: &quot;agent&quot;" in html
    order = order_in_error()
    claimed = note(order, "claimed")
    assert viewer.get(f"{LIST}{claimed.pk}/change/", follow=True).redirect_chain


def test_a_page_costs_the_same_however_much_was_done(viewer):
    for _ in range(3):
        note(order_in_error(), "paused", actor="operator:ann", at=timezone.now())
    html_of(viewer)
    with CaptureQueriesContext(connection) as few:
        html_of(viewer)
    for _ in range(30):
        note(order_in_error(), "paused", actor="operator:ann", at=timezone.now())
    with CaptureQueriesContext(connection) as many:
        html_of(viewer)
    assert len(few) == len(many) < 15


def test_personal_data_is_masked(viewer):
    order = private_order()
    detail = {"reason": f"{NAME} rang", "changes": {"customer.address": ["x", ADDRESS]}}
    note(order, "input_edited", actor="operator:ann", detail=detail)
    shown = html_of(viewer) + "".join(map(str, rows_of(viewer)))
    assert NAME not in shown
    assert ADDRESS not in shown


@pytest.mark.parametrize(
    ("event", "of_step", "is_act"),
    [
        ("compensating", False, True),
        ("resubmitted", False, True),
        ("resubmitted", True, True),
        ("processed", True, True),
        ("of an app's own", False, True),
        ("cancelled", True, False),
        ("cancelled", False, False),
        ("ready", True, False),
        ("processed", False, False),
        ("handed_back", True, False),
    ],
)
def test_what_only_followed_from_an_act_is_none(event, of_step, is_act):
    order = order_in_error()
    step = order.process.steps.first() if of_step else None
    row = note(order, event, actor="operator:ann", step=step)
    assert acts_alone(Act.objects.filter(pk=row.pk)).exists() == is_act


# ------------------------------------------------------------ each act that wrote no journal row


def last_act() -> Journal:
    row = Journal.objects.latest("pk")
    assert acts_alone(Act.objects.filter(pk=row.pk)).exists()
    return row


def test_acknowledging_alerts_is_journalled(operator):
    order = order_in_error()
    alert = alert_about(order)
    url = f"/admin/workers/alert/{alert.pk}/acknowledge/"
    operator.post(url, {"comment": "seen"})
    row = last_act()
    assert (row.event, row.actor, row.process_id) == (
        "alert_acknowledged", "operator:operator", order.process_id,
    )  # fmt: skip
    assert row.detail == {"alert": alert.pk, "code": "process_error", "reason": "seen"}
    operator.post(url, {"comment": "again"})
    assert Journal.objects.filter(event="alert_acknowledged").count() == 1
    alert_about(None, message="other")
    ids = ",".join(str(pk) for pk in Alert.objects.values_list("pk", flat=True))
    operator.post("/admin/workers/alert/acknowledge/", {"alerts": ids, "comment": ""})
    assert Journal.objects.filter(event="alert_acknowledged").count() == 2


@pytest.mark.parametrize("act", ["discard", "restore"])
def test_what_is_done_to_dead_letters_is_journalled(act):
    clerk = staff("clerk", "resolve_deadletter", "resolve_dead_letter")
    state = {"discard": "open", "restore": "discarded"}[act]
    letter = DeadLetter.objects.create(
        received_at=timezone.now(), body=b"{}", client="acme", state=state
    )
    clerk.post(f"/admin/orders/deadletter/{letter.pk}/{act}/", {"reason": "noise"})
    row = last_act()
    assert row.event == {"discard": "dead_letter_discarded", "restore": "dead_letter_restored"}[act]
    assert (row.actor, row.detail["letter"], row.detail["reason"]) == (
        "operator:clerk", letter.pk, "noise",
    )  # fmt: skip


def test_what_is_done_to_clients_is_journalled_admin_and_terminal_alike(acme):
    clerk = staff("clerk", "deactivate_client", "register_client", "reveal_webhook_secret")
    page = clerk.get(f"/admin/orders/apiclient/{acme.pk}/deactivate/").content.decode()
    seen = page.partition('name="seen" value="')[2].partition('"')[0]
    form = {"reason": "asked", "seen": seen}
    clerk.post(f"/admin/orders/apiclient/{acme.pk}/deactivate/", form)
    row = last_act()
    assert (row.event, row.detail) == ("client_deactivate", {"client": "acme", "reason": "asked"})
    for words, event in (
        (("add", "globex"), "client_add"),
        (("issue", "globex"), "client_issue"),
        (("rotate", "globex"), "client_rotate"),
        (("webhook-secret", "globex"), "client_reveal"),
        (("webhook-secret", "globex", "--rotate"), "client_rotate_secret"),
        (("revoke", "globex"), "client_revoke"),
    ):
        call_command("client", *words)
        row = last_act()
        assert (row.event, row.detail["client"]) == (event, "globex")
        assert row.actor.startswith("operator:")
    assert not Journal.objects.filter(detail__icontains="sas_").exists()


def test_what_is_done_to_products_and_numbers_is_journalled(admin_client):
    form = {"sku": "k", "name": "Mug", "price": "3.00", "restock": "5", "description": "x"}
    admin_client.post("/admin/orders/product/add/", form | {"picture": "stoneware-mug.svg"})
    assert last_act().event == "product_added"
    product = Product.objects.get()
    admin_client.post(f"/admin/orders/product/{product.pk}/change/", form | {"name": "Cup"})
    assert last_act().event == "product_set"
    admin_client.post(f"/admin/orders/product/{product.pk}/delete/", {"post": "yes"})
    assert (last_act().event, last_act().detail) == ("product_deleted", {"sku": "k"})
    call_command("order_numbers", "--next", "1000000000")
    assert (last_act().event, last_act().detail) == ("order_numbers_moved", {"next": 1_000_000_000})


def test_every_event_of_a_person_has_words(viewer):
    """An event that nobody has worded is shown by its name; ours all have a sentence."""
    journal.record_act("of_an_app", actor="operator:ann")
    assert "Of an app" in html_of(viewer)
    beat_schedule.ensure_flow()
    flow_settings.set_flow("payment.charge", {"window": 3}, **WORD)
    assert "The flow of an agent was set" in html_of(viewer)


# ------------------------------------------------------------------------------- lists as files


def test_orders_are_a_file_as_they_are_filtered(viewer):
    wanted, other = order_in_error(), order_in_error()
    Process.objects.filter(pk=other.process_id).update(paused_at=timezone.now())
    response = viewer.get("/admin/orders/order/csv/?paused=yes&state=error")
    rows = list(csv.reader(b"".join(response).decode("utf-8-sig").splitlines()))  # type: ignore[arg-type]
    assert [row[0] for row in rows] == ["number", str(other.number)]
    assert rows[1][1] == "A***"
    assert rows[1][rows[0].index("step")] == "charge_payment"
    row = Journal.objects.get(event="exported")
    assert row.detail == {"list": "orders.order", "query": "paused=yes&state=error", "rows": 1}
    assert str(wanted.number) not in [row[0] for row in rows]
    html = viewer.get("/admin/orders/order/?state=error").content.decode()
    assert 'href="/admin/orders/order/csv/?state=error"' in html


def test_a_file_has_personal_data_for_who_may_and_posts(viewer):
    order = private_order()
    for url in ("/admin/orders/order/csv/", f"{LIST}csv/", "/admin/workers/process/csv/"):
        assert viewer.post(url, {"personal": "yes"}).status_code == 403, url
    shower = staff("shower", "show_personal")
    told = "Downloads are recorded in the journal."
    assert told in shower.get("/admin/orders/order/").content.decode()
    for answer in (
        shower.get("/admin/orders/order/csv/?personal=yes"),
        shower.post("/admin/orders/order/csv/"),
    ):
        assert NAME not in b"".join(answer).decode()  # type: ignore[arg-type]
    answer = shower.post("/admin/orders/order/csv/", {"personal": "yes"})
    assert NAME in b"".join(answer).decode()  # type: ignore[arg-type]
    row = Journal.objects.filter(event="exported").latest("pk")
    assert row.detail["personal"] is True
    assert str(order.number)


def test_what_was_searched_for_is_not_journalled(viewer):
    viewer.get("/admin/orders/order/csv/?q=Zelda&state=error")
    assert Journal.objects.get(event="exported").detail["query"] == "q=%2A%2A%2A&state=error"


def test_who_a_dead_letter_names_is_masked_in_the_audit(viewer):
    letter = private_letter()
    dead_letters.discard(letter.pk, actor="operator:ann", reason=f"{NAME} rang, Zelda says no")
    [row] = Act.objects.all()
    said = "Z*** rang, Z*** says no"
    for page in ("", f"{row.pk}/change/"):
        html = html_of(viewer, page)
        assert (found(html), said in html) == ([], True)
    [_heads, line] = rows_of(viewer)
    assert (found(str(line)), said in line) == ([], True)
    row.refresh_from_db()
    assert row.detail["reason"] == f"{NAME} rang, Zelda says no", "masked on pages only"


@pytest.mark.parametrize(
    "formula",
    [
        "=1",
        "+1",
        "-1",
        "@x",
        "\tx",
        "\rx",
        "\uff1d1",
        " =1",
        "\u00a0=1",
        "\u3000 @x",
        "\u200b=1",
        "\u00ad=1",
        "\u061c=1",
    ],
)
def test_no_cell_is_a_formula(viewer, formula):
    order = order_in_error()
    order.customer_name = formula
    order.reference = formula
    order.save()
    text = b"".join(viewer.get("/admin/orders/order/csv/")).decode("utf-8-sig")  # type: ignore[arg-type]
    cells = next(iter(csv.reader(text.split("\r\n", 1)[1].splitlines(keepends=True))))
    assert cells[3] == f"'{formula}"


@pytest.mark.parametrize("separator", [";", "\t", "\n", "\r\n", "|"])
def test_no_part_of_a_cell_is_a_formula_to_who_separates_cells_by_it(separator):
    assert csv_files.plain(f"a{separator}=1+1") == f"a{separator}'=1+1"
    assert csv_files.plain(f"a{separator} =1+1") == f"a{separator}' =1+1"
    assert csv_files.plain(f"a{separator}\u00a0=1+1") == f"a{separator}'\u00a0=1+1"
    assert csv_files.plain(f"a{separator}b = c - d") == f"a{separator}b = c - d"


def test_excel_is_told_that_a_file_is_utf_8(viewer):
    order_in_error()
    sent = b"".join(viewer.get("/admin/orders/order/csv/"))  # type: ignore[arg-type]
    assert sent.startswith(b"\xef\xbb\xbfnumber,customer")


def test_more_rows_than_a_file_may_have_are_refused(viewer, monkeypatch):
    monkeypatch.setattr(csv_files, "LONGEST", 2)
    for _ in range(3):
        order_in_error()
    answer = viewer.get("/admin/orders/order/csv/?state=error", follow=True)
    assert answer.redirect_chain == [("/admin/orders/order/?state=error", 302)]
    assert "A file has 2 rows at most. Narrow the list" in answer.content.decode()
    assert not Journal.objects.filter(event="exported").exists()


@pytest.mark.parametrize("query", ["?q=%ff%00", "?created_at__gte=nonsense", "?p=%ud800"])
def test_a_file_answers_whatever_stands_in_its_address(viewer, query):
    assert viewer.get(f"/admin/orders/order/csv/{query}").status_code in (200, 302)


def test_a_file_is_read_in_portions(viewer, monkeypatch):
    monkeypatch.setattr(csv_files, "READ_AT_ONCE", 2)
    numbers = [order_in_error().number for _ in range(5)]
    text = b"".join(viewer.get("/admin/orders/order/csv/")).decode("utf-8-sig")  # type: ignore[arg-type]
    assert [line.split(",")[0] for line in text.splitlines()[1:]] == [
        str(number) for number in reversed(numbers)
    ]
