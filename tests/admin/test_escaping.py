"""Whatever others write is shown as they wrote it, on every page that an operator can reach."""

from collections import Counter, deque
from typing import Any
from urllib.parse import parse_qs, urljoin, urlsplit

import pytest
from django.contrib import admin
from django.contrib.admin.utils import quote
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, resolve, reverse

from orders.models import ApiClient, DeadLetter, Order
from tests.admin.hostile import ATTACK, LINK, Reader, evil, fill, root
from workers.desk.models import BulkJob, Incident, Minute, ProbeResult
from workers.models import Alert, Process

pytestmark = pytest.mark.fault("F31")

#: What every one of these holds must have been seen somewhere: a page that hides it proves nothing.
SHOWN = (
    *("user", "k", "product", "description", "picture", "customer", "mail@example.org", "street"),
    *("town", "reference", "key", "submitter", "line", "s", "subject", "code", "fault"),
    *("result key", "result", "actor", "reason", "detail", "alert", "old alert", "alert comment"),
    *("note", "noted"),
    *("asked", "question", "paused", "resting", "editable", "given", "address", "held", "holder"),
    *("hold reason", "owner", "sink error", "message", "sender", "reply", "answer", "header"),
    *("release", "group", "finding", "finding why", "finding remedy", "route", "route address"),
    *("route answer", "job actor", "job reason", "job cause", "view", "view filter", "doer"),
    *("done to", "why", "refused", "undo", "undo reason", "undo step", "undo comment"),
    *("undo moved", "asker", "decider", "value", "body", "where", "problem", "comment", "resolver"),
    *("c", "d", "log"),
)
#: Answers to a POST, and pages that nobody has (rows are added and deleted by the system).
NO_PAGES = (
    *("_add", "_delete", "_selected", "_redeliver", "_acknowledge"),
    *("bulkjob_pause", "bulkjob_resume", "bulkjob_stop", "_csv", "_show", "_hide"),
    *("_resend", "route_test", "savedview_save", "process_note", "order_note"),
    "undorequest_decide",
    # Led to where there are more members than a sample has; read below.
    "incident_sample",
)
#: Their rows have no page of their own: one shows them all.
ON_ONE_PAGE = (Minute, ProbeResult)
#: Pages of one kind that are read: every process that ``hostile`` makes.
EACH = 7
#: Reached from no link: htmx asks for them.
PARTS = ("_live", "_needs", "_desk", "_links")
LEFT = (
    "/admin/logout/",
    "/admin/password_change/",
    "/admin/jsi18n/",
    "/admin/auth/",
    "/admin/django_celery_beat/",
    "/admin/autocomplete/",
    "/admin/r/",
)


def names(resolver: URLResolver) -> set[str]:
    """Return the names of all pages below an address that belong to our apps."""
    found = set()
    for one in resolver.url_patterns:
        if isinstance(one, URLPattern):
            found |= {one.name} if one.name else set()
        else:
            found |= names(one)
    return {name for name in found if name.startswith(("orders_", "workers_", "desk_"))}


def pages_of_the_admin() -> set[str]:
    (site,) = (
        one
        for one in get_resolver().url_patterns
        if isinstance(one, URLResolver) and one.namespace == admin.site.name
    )
    return {name for name in names(site) if not name.endswith((*NO_PAGES, *PARTS))}


def read(client: Client, url: str, **headers: str) -> Reader:
    answer = client.get(url, headers=headers)
    assert answer.status_code == 200, url
    page = Reader(answer.content.decode())
    assert page.wrong == [], url
    return page


def beginnings() -> list[str]:
    """Return the index, and pages of rows that no link may lead to but an address does."""
    rows = [
        (model._meta, row.pk)
        for model in admin.site._registry
        if model._meta.app_label in ("orders", "workers", "desk") and model not in ON_ONE_PAGE
        for row in model._default_manager.all()[:2]
    ]
    return ["/admin/"] + [
        reverse(f"admin:{meta.app_label}_{meta.model_name}_{page}", args=[quote(pk)])
        for meta, pk in rows
        for page in ("change", "history")
    ]


def walk(client: Client) -> tuple[set[str], dict[str, str]]:
    """Follow the links from the index; return the names of the pages met, and what each says.

    A few of each kind are read: agents are many and alike, and filters multiply.
    """
    waiting = deque(beginnings())
    met = set(waiting)
    kinds = Counter((str(resolve(address).url_name), "") for address in met)
    said = {}
    while waiting:
        url = waiting.popleft()
        page = read(client, url)
        said[url] = page.text
        for link in page.links:
            target = urlsplit(urljoin(url, link))._replace(fragment="")
            asked = {*parse_qs(target.query)} - {"_changelist_filters"}
            if target.netloc or not target.path.startswith("/admin/") or len(asked) > 1:
                continue
            kind = (str(resolve(target.path).url_name), "".join(asked))
            address = target.geturl()
            if kind[0].endswith("_csv"):
                continue
            if address in met or target.path.startswith(LEFT) or kinds[kind] >= EACH:
                continue
            met.add(address)
            kinds[kind] += 1
            waiting.append(address)
    return {name for name, _ in kinds}, said


@pytest.fixture
def client(wire) -> Client:
    user = root()
    fill(wire, user)
    client = Client()
    client.force_login(user)
    # What is personal is seen by who has asked for it.
    for model, name in ((Order, "order"), (DeadLetter, "deadletter")):
        for row in model._default_manager.all():
            assert client.post(f"/admin/orders/{name}/{row.pk}/show/").status_code == 302
    return client


@pytest.mark.volume
def test_every_page_shows_attacks_as_text(client):
    visited, pages = walk(client)
    said = "\n".join(pages.values())
    assert pages_of_the_admin() - visited == set()
    assert [name for name in SHOWN if evil(name) not in said] == []
    assert LINK in said


@pytest.mark.volume
def test_the_parts_that_keep_pages_up_to_date_do_too(client):
    order = Order.objects.get()
    lists = [
        f"/admin/{name}/"
        for name in (
            "orders/order",
            "orders/deadletter",
            "workers/process",
            "workers/alert",
            "desk/incident",
            "workers/sink",
            "workers/hold",
            "desk/bulkjob",
            "desk/minute",
            "desk/proberesult",
            "workers/act",
        )
    ]
    parts = [
        "/admin/orders/order/needs/",
        f"/admin/orders/order/{order.number}/live/",
        f"/admin/workers/process/{order.process_id}/live/",
        f"/admin/desk/bulkjob/{BulkJob.objects.get().pk}/live/",
        f"/admin/desk/incident/{Incident.objects.get().pk}/live/",
        "/admin/desk/incident/desk/",
        "/admin/desk/savedview/links/?list=orders.order",
    ]
    for url in (*lists, *parts):
        page = read(client, url, **{"HX-Request": "true"})
        assert ATTACK in page.text, url


@pytest.mark.parametrize(
    "url",
    [
        "orders/order",
        "orders/deadletter",
        "orders/apiclient",
        "orders/product",
        "workers/process",
        "workers/alert",
        "desk/incident",
        "workers/sink",
        "desk/bulkjob",
        "workers/act",
    ],
)
def test_what_is_searched_for_is_text(client, url):
    answer = client.get(f"/admin/{url}/", {"q": evil("term")})
    page = Reader(answer.content.decode())
    assert page.wrong == []
    assert evil("term") in page.text


ACTIONS = {
    "orders/order": ("resubmit_selected", "pause_selected", "cancel_selected"),
    "workers/process": ("resume_selected", "pause_selected"),
    "workers/alert": ("acknowledge_selected",),
    "orders/deadletter": (
        "replay_selected",
        "note_selected",
        "discard_selected",
        "restore_selected",
    ),
}
MODELS = {
    "orders/order": Order,
    "workers/process": Process,
    "workers/alert": Alert,
    "orders/deadletter": DeadLetter,
}


@pytest.mark.volume
@pytest.mark.parametrize(("url", "action"), [(u, a) for u, names in ACTIONS.items() for a in names])
def test_what_is_done_to_many_lists_them_as_text(client, url, action):
    ids = list(MODELS[url]._default_manager.values_list("pk", flat=True))
    answer = client.post(f"/admin/{url}/", {"action": action, "_selected_action": ids})
    assert answer.status_code == 200
    page = Reader(answer.content.decode())
    assert page.wrong == []
    assert ATTACK in page.text


def test_a_sample_of_an_incident_lists_them_as_text(client):
    incident = Incident.objects.get()
    url = f"/admin/desk/incident/{incident.pk}/sample/?incident={incident.pk}"
    assert ATTACK in read(client, url).text


def posted(client: Client, url: str, **form: Any) -> Reader:
    """Send a form, and read the page it leads to."""
    page = Reader(client.post(url, form, follow=True).content.decode())
    assert page.wrong == []
    return page


def test_reasons_come_back_as_text(client):
    order, partner = Order.objects.get(), ApiClient.objects.get(is_active=True)
    for url in (
        f"/admin/orders/order/{order.number}/resubmit/",
        f"/admin/workers/process/{order.process_id}/cancel/",
        "/admin/workers/flow/payment.charge/set/",
        "/admin/workers/flow/toy.keyed/key/",
        "/admin/workers/hold/hold/",
        f"/admin/orders/apiclient/{partner.pk}/issue/",
        "/admin/orders/apiclient/register/",
    ):
        page = posted(client, url, reason=evil("why"), seen=evil("seen"), name=evil("name"))
        assert evil("why") in page.text, url


def test_what_was_done_is_told_as_text(client):
    order, letter = Order.objects.get(), DeadLetter.objects.get(state="open")
    alert = Alert.objects.get(acknowledged_at=None, code="process_error")
    told = [
        posted(
            client,
            f"/admin/workers/process/{order.process_id}/pause/",
            reason=evil("why"),
            sequence=order.process.sequence,
        ),
        posted(client, f"/admin/orders/deadletter/{letter.pk}/replay/"),
        posted(client, f"/admin/orders/deadletter/{letter.pk}/discard/", reason=evil("why")),
        posted(client, f"/admin/workers/alert/{alert.pk}/acknowledge/", comment=evil("why")),
    ]
    assert all(ATTACK in page.text for page in told)
    for url in (
        f"/admin/orders/order/{order.number}/change/",
        f"/admin/orders/deadletter/{letter.pk}/change/",
        f"/admin/workers/alert/{alert.pk}/change/",
        f"/admin/workers/process/{order.process_id}/history/",
    ):
        assert evil("why") in read(client, url).text, url


def test_a_name_that_was_mistyped_at_the_login_is_text(db):
    answer = Client().post("/admin/login/", {"username": evil("who"), "password": evil("pass")})
    page = Reader(answer.content.decode())
    assert page.wrong == []
    assert evil("who") in page.text
    assert evil("pass") not in page.text
