"""A job's page: how far it is, what became of each, and what its reader may do about it."""

import csv
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client

from orders.models import Order
from tests.admin import toys
from tests.admin.conftest import order_in_error, poll, staff
from tests.toyflow import agents as toy
from workers.desk.admin import csv_files
from workers.desk.models import BulkItem, BulkJob
from workers.desk.store import jobs
from workers.models import Process

JOBS = "/admin/desk/bulkjob/"
ORDERS, PROCESSES = "/admin/orders/order/", "/admin/workers/process/"


def job_of(
    orders: list[Order], *, actor: str = "operator:ann", source: Any = None, **more: Any
) -> BulkJob:
    seen = {order.process_id: order.process.sequence for order in orders}
    where = {"list": "orders.order", "query": "needs=error"} if source is None else source
    job_id = jobs.create(
        "resubmit", seen, actor=actor, reason="the <b>bank</b> is back", source=where, **more
    )
    return BulkJob.objects.get(pk=job_id)


def page(client: Client, job: BulkJob, query: str = "") -> str:
    response = client.get(f"{JOBS}{job.pk}/change/{query}")
    assert response.status_code == 200
    return response.content.decode()


def test_it_has_an_address_of_its_own(viewer):
    job = job_of([order_in_error()])
    response = viewer.get(f"{JOBS}{job.pk}/")
    assert response["Location"] == f"{JOBS}{job.pk}/change/"
    assert viewer.get(f"{JOBS}999/change/").status_code == 302


def test_job_page_shows_actor_reason_source_and_progress(viewer):
    orders = [order_in_error() for _ in range(3)]
    job = job_of(orders, rate_per_second=40.0)
    Process.objects.filter(pk=orders[0].process_id).update(sequence=5)
    jobs.work(job.pk, 2)

    html = page(viewer, job)

    assert f"Job {job.pk}: running, 2 of 3, 1 refused" in html
    assert "operator:ann" in html
    assert "the &lt;b&gt;bank&lt;/b&gt; is back" in html
    assert f'href="{ORDERS}?needs=error"' in html
    assert "40.0 a second at most" in html
    assert f"{orders[0]} has moved since the page was opened. Look again." in html
    for name in ("to_do", "refused", "waiting"):
        assert f'href="?is={name}#items-title"' in html
        assert f'href="{ORDERS}?job={job.pk}%3A{name}"' in html
    assert f'href="{ORDERS}?job={job.pk}"' in html
    # A viewer acts on nothing.
    assert "<button" not in html.split('id="live"')[1]


def test_the_items_are_filtered_and_paged(viewer, monkeypatch):
    monkeypatch.setattr("workers.desk.admin.job_page.PER_PAGE", 2)
    orders = [order_in_error() for _ in range(5)]
    job = job_of(orders)
    jobs.work(job.pk, 2)

    assert [str(order) in page(viewer, job, "?is=to_do") for order in orders] == [
        *(False, False, True, True, False)
    ]
    html = page(viewer, job, "?is=to_do&p=2")
    assert [str(order) in html for order in orders] == [False] * 4 + [True]
    assert "page 2 of 2" in html
    assert 'href="?is=to_do&amp;p=1"' in html
    for nonsense in ("?is=nothing", "?p=77", "?p=x", "?is=%00"):
        page(viewer, job, nonsense)


def test_the_list_has_exactly_these_again(operator):
    orders = [order_in_error() for _ in range(3)]
    job = job_of(orders[:2])
    jobs.work(job.pk, 1)

    def listed(query: str, base: str = ORDERS) -> list[bool]:
        html = operator.get(f"{base}?{query}").content.decode()
        keys = [order.number if base == ORDERS else order.process_id for order in orders]
        return [f"{base}{key}/change/" in html for key in keys]

    assert listed(f"job={job.pk}") == [True, True, False]
    assert listed(f"job={job.pk}:waiting") == [True, False, False]
    assert listed(f"job={job.pk}:to_do") == [False, True, False]
    assert listed(f"job={job.pk}:refused") == [False] * 3
    assert listed(f"needs=error&job={job.pk}") == [False, True, False]
    for nonsense in ("job=x", "job=1:nothing", "job=", f"job={'9' * 30}"):
        assert listed(nonsense) in ([False] * 3, [True] * 3)
    assert listed(f"job={job.pk}", PROCESSES) == [True, True, False]


def test_what_failed_again_is_resubmitted_from_here(operator, wire):
    processes = [toys.failed(wire, f"Toy {n}") for n in range(2)]
    for process in processes:
        process.refresh_from_db()
    seen = {process.pk: process.sequence for process in processes}
    job_id = jobs.create("resubmit", seen, actor="operator:operator", reason="r", source={})
    jobs.work(job_id, 10)
    toy.script["toy.gamma"] = lambda call: (
        toys.raises(toys.Permanent("gone", "no"))(call) if "Toy 1" in str(call.subject) else {}
    )
    wire.run_until_idle()
    job = BulkJob.objects.get()

    html = page(operator, job)

    assert "Resubmit the one that failed again…" in html
    form = {
        "action": "resubmit_selected",
        "index": "0",
        "select_across": "1",
        "_selected_action": "0",
    }
    for name, value in form.items():
        assert f'name="{name}" value="{value}"' in html
    url = f"{PROCESSES}?job={job.pk}%3Afailed_again"
    assert f'action="{url}"' in html
    confirm = operator.post(url, form).content.decode()
    assert "1 of 1 selected changes." in confirm
    assert "Toy 1" in confirm
    assert "Toy 0" not in confirm
    # Nobody who may not.
    assert "failed again…" not in page(staff("looker"), job)


@pytest.mark.parametrize("act", ["pause", "resume", "stop"])
def test_it_is_steered_by_its_maker_and_by_who_may(act):
    """And by nobody else."""
    before, after = ("paused", "running") if act == "resume" else ("running", f"{act}d")
    after = "stopped" if act == "stop" else after
    job = job_of([order_in_error()])
    url = f"{JOBS}{job.pk}/{act}/"
    looker, chief, ann = staff("looker"), staff("chief", "operate_bulkjob"), staff("ann")
    for client, may in ((looker, False), (chief, True), (ann, True)):
        BulkJob.objects.update(state=before, ended_at=None)
        assert (f'action="{url}"' in page(client, job)) is may
        response = client.post(url)
        if may:
            assert response["Location"] == f"{JOBS}{job.pk}/change/"
            assert BulkJob.objects.get().state == after
        else:
            assert response.status_code == 403
            assert BulkJob.objects.get().state == before
        assert client.get(url).status_code == 405
    assert BulkJob.objects.get().steered_by == "operator:ann"
    assert LogEntry.objects.count() == 2


def test_what_cannot_be_done_any_more_is_said(operator):
    job = job_of([order_in_error()], actor="operator:operator")
    jobs.work(job.pk, 5)
    html = operator.post(f"{JOBS}{job.pk}/pause/", follow=True).content.decode()
    assert f"Job {job.pk} is done: it cannot pause." in html
    assert operator.post(f"{JOBS}999/pause/").status_code == 404


def test_a_job_that_goes_on_is_worked_again(operator, nudges):
    job = job_of([order_in_error()], actor="operator:operator")
    operator.post(f"{JOBS}{job.pk}/pause/")
    assert nudges == []
    operator.post(f"{JOBS}{job.pk}/resume/")
    assert nudges == ["jobs"]


def test_user_without_job_permission_sees_only_own_jobs():
    from django.contrib.auth import get_user_model

    get_user_model().objects.create_user("clerk", is_staff=True)
    clerk = Client()
    clerk.force_login(get_user_model().objects.get())
    own = job_of([order_in_error()], actor="operator:clerk")
    other = job_of([order_in_error()])
    for below in ("change/", "live/", "csv/"):
        assert clerk.get(f"{JOBS}{own.pk}/{below}").status_code == 200
        assert clerk.get(f"{JOBS}{other.pk}/{below}").status_code == 403
    assert clerk.get(JOBS).status_code == 403


def test_a_poll_is_answered_with_what_has_changed_or_nothing(viewer):
    job = job_of([order_in_error() for _ in range(2)])
    html = page(viewer, job)
    seen = html.split('data-seen="')[1].split('"')[0]
    live = f"{JOBS}{job.pk}/live/"
    assert f'hx-get="{live}"' in html

    quiet = poll(viewer, live, seen)
    assert (quiet.status_code, quiet.content) == (204, b"")
    assert quiet["X-Server-Now"]

    jobs.work(job.pk, 1)
    loud = poll(viewer, live, seen)
    assert loud.status_code == 200
    assert loud["X-Server-Now"]
    assert "1 of 2" in loud.content.decode()
    assert "<html" not in loud.content.decode()
    assert viewer.get(f"{JOBS}999/live/").status_code in (403, 404)


def test_what_becomes_of_them_is_news_too(viewer):
    order = order_in_error()
    job = job_of([order])
    jobs.work(job.pk, 1)
    live = f"{JOBS}{job.pk}/live/"
    seen = poll(viewer, live)["X-Seen"]
    assert poll(viewer, live, seen).status_code == 204
    Process.objects.filter(pk=order.process_id).update(state="error")
    assert poll(viewer, live, seen).status_code == 200


def test_its_items_are_a_file(viewer, monkeypatch):
    monkeypatch.setattr(csv_files, "READ_AT_ONCE", 2)
    orders = [order_in_error() for _ in range(5)]
    job = job_of(orders)
    Process.objects.filter(pk=orders[1].process_id).update(sequence=5, subject="=1+1")
    jobs.work(job.pk, 3)

    response = viewer.get(f"{JOBS}{job.pk}/csv/")

    assert response["Content-Type"] == "text/csv; charset=utf-8"
    assert f'filename="job-{job.pk}.csv"' in response["Content-Disposition"]
    assert response.streaming
    rows = list(csv.reader(b"".join(response).decode("utf-8-sig").splitlines()))
    first, second = orders[0], orders[1]
    assert rows[0] == ["process", "subject", "state", "result", "reason"]
    assert rows[1] == [str(first.process_id), str(first), "processing", "waiting", ""]
    why = "'=1+1 has moved since the page was opened. Look again."
    assert rows[2] == [str(second.process_id), "'=1+1", "error", "refused", why]
    assert [row[3] for row in rows[3:]] == ["waiting", "to_do", "to_do"]
    only = b"".join(viewer.get(f"{JOBS}{job.pk}/csv/?is=refused")).decode("utf-8-sig").splitlines()
    assert len(only) == 2


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ({}, "a terminal"),
        ({"incident": "failure:ab12"}, "incident failure:ab12"),
        ({"error": "ab12", "workflow": "fulfilment"}, "error ab12, workflow fulfilment"),
        ({"list": "gone.model", "query": "x=1"}, "processes, as filtered"),
    ],
)
def test_where_its_set_came_from_is_said(viewer, source, said):
    assert said in page(viewer, job_of([order_in_error()], source=source))


def test_the_list_of_jobs_tells_them_apart(viewer, django_assert_max_num_queries):
    job = job_of([order_in_error() for _ in range(2)])
    job_of([order_in_error()], actor="operator:bob")
    jobs.steer(job.pk, "stop", actor="operator:ann")
    with django_assert_max_num_queries(15):
        html = viewer.get(JOBS).content.decode()
    assert "operator:bob" in html
    assert "0 of 2" in html
    assert "stopped" in html
    assert "operator:bob" not in viewer.get(f"{JOBS}?state=stopped").content.decode()
    assert "operator:ann" not in viewer.get(f"{JOBS}?q=bob").content.decode()
    assert "operator:ann" not in viewer.get(f"{JOBS}?verb=cancel").content.decode()


def test_a_page_takes_few_queries_however_many_items(viewer, django_assert_max_num_queries):
    job = job_of([order_in_error() for _ in range(40)])
    jobs.work(job.pk, 20)
    with django_assert_max_num_queries(15):
        page(viewer, job)
    live = f"{JOBS}{job.pk}/live/"
    with django_assert_max_num_queries(12):
        seen = poll(viewer, live)["X-Seen"]
    with django_assert_max_num_queries(7):
        assert poll(viewer, live, seen).status_code == 204
    assert BulkItem.objects.count() == 40


def test_rows_are_shown_and_never_written_by_hand():
    from django.contrib.auth import get_user_model

    chief = Client()
    chief.force_login(get_user_model().objects.create_superuser("root", "r@example.org", "x"))
    job = job_of([order_in_error()])
    assert chief.get(f"{JOBS}add/").status_code == 403
    assert chief.post(f"{JOBS}{job.pk}/delete/").status_code == 403
    assert chief.post(f"{JOBS}{job.pk}/change/", {"reason": "x"}).status_code == 403


def test_job_page_asks_to_go_on_after_sample_until_job_is_resumed(wire):
    operator = staff("ann")
    job = job_of([order_in_error() for _ in range(4)], sample=3)
    jobs.work(job.pk, 200)
    html = page(operator, job)
    assert "It has changed a sample of 3 and waits" in html
    assert "Go on with the other one" in html
    operator.post(f"{JOBS}{job.pk}/resume/")
    assert "It has changed a sample" not in page(operator, job)


def test_a_list_asks_for_a_sample(operator, wire):
    orders = [order_in_error() for _ in range(3)]
    chosen = {"action": "resubmit_selected", "_selected_action": [one.pk for one in orders]}
    form = operator.post(ORDERS, chosen).context["form"]
    asked = {"seen": form["seen"].value(), "reason": "back", "sample": "0"}
    assert operator.post(f"{ORDERS}resubmit/", asked).status_code == 400
    operator.post(f"{ORDERS}resubmit/", asked | {"sample": "2"})
    job = BulkJob.objects.get()
    assert (job.state, job.landed, job.sample) == ("paused", 2, 2)


def test_names_in_refusals_are_masked(viewer):
    order = order_in_error()
    process = Process.objects.get(pk=order.process_id)
    Process.objects.filter(pk=process.pk).update(
        subject="for Ada Lovelace", sequence=9, version=2,
        input={"customer": {"name": "Ada Lovelace"}},
    )  # fmt: skip
    job = job_of([order])
    jobs.work(job.pk, 1)
    html = page(viewer, job)
    assert "A*** has moved since the page was opened" in html.replace("for ", "")
    file = b"".join(viewer.get(f"{JOBS}{job.pk}/csv/")).decode("utf-8-sig")  # type: ignore[call-overload]
    assert "Ada Lovelace has moved" not in file
