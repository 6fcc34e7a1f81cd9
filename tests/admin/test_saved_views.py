"""Views of lists are saved, shared, counted, renamed and deleted, by whom they belong to."""

from urllib.parse import urlencode

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from tests.admin.conftest import order_in_error, order_with, staff
from workers.desk.admin import view_lists
from workers.desk.admin.saved_view import ViewForm
from workers.desk.models import SavedView
from workers.desk.store import saved_views
from workers.exceptions import BadText, StateError

ORDERS, PROCESSES, INCIDENTS = (
    "/admin/orders/order/",
    "/admin/workers/process/",
    "/admin/desk/incident/",
)
SAVED = "/admin/desk/savedview/"
LISTS = {
    "orders.order": (ORDERS, "state=error"),
    "workers.process": (PROCESSES, "needs=error&o=8"),
    "desk.incident": (INCIDENTS, "is=open&owner=me"),
}

#: An instant that Python cannot write in UTC, as SQLite has them; PostgreSQL can be asked for it.
BEFORE_ALL = "created_at__gte=0001-01-01 00:00:00%2B14:00"
ON_SQLITE = pytest.mark.sqlite


def user_of(client: Client) -> int:
    return int(client.session["_auth_user_id"])


def save(client: Client, name: str, query: str = "state=error", **form: str) -> str:
    """Save a view as its form does, and return what the list says then."""
    form = {"list": "orders.order", "query": query, "name": name, **form}
    return client.post(f"{SAVED}save/", form, follow=True).content.decode()


def view_of(owner: Client, name: str = "Errors", query: str = "state=error", **more: object):  # type: ignore[no-untyped-def]
    columns = {"of_list": "orders.order", **more}
    saved_views.save(user_of(owner), name=name, query=query, **columns)  # type: ignore[arg-type]
    return SavedView.objects.get(name=name)


def counts(client: Client, label: str = "orders.order") -> str:
    answer = client.get(f"{SAVED}links/", {"list": label}, headers={"HX-Request": "true"})
    assert answer.status_code == 200
    return answer.content.decode()


# ---------------------------------------------------------------- saving


@pytest.mark.parametrize("label", LISTS)
def test_a_list_is_saved_as_it_is_narrowed(viewer, label):
    url, query = LISTS[label]
    page = viewer.get(f"{url}?{query}&p=1").content.decode()
    assert f'action="{SAVED}save/"' in page
    assert f'name="list" value="{label}"' in page
    assert "Saved as “Mine”." in save(viewer, "Mine", f"{query}&p=1", list=label)
    view = SavedView.objects.get()
    assert (view.of_list, view.query, view.is_shared) == (label, query, False)
    assert view.owner_id == user_of(viewer)
    address = f'href="{url}?{query.replace("&", "&amp;")}">Mine'
    assert address in counts(viewer, label)


def test_the_view_that_is_shown_is_marked(viewer):
    view = view_of(viewer, query="state=error&paused=yes")
    other = view_of(viewer, "Other", "state=processed")
    shown = "paused=yes&state=error"
    assert urlencode({"shown": shown}) in viewer.get(f"{ORDERS}?{shown}&p=1").content.decode()
    page = viewer.get(f"{SAVED}links/", {"list": "orders.order", "shown": shown}).content.decode()
    address = f"{ORDERS}?state=error&amp;paused=yes"
    assert f'id="view-{view.pk}" class="sas-button" href="{address}" aria-current="true"' in page
    assert page.count('aria-current="true"') == 1
    assert f'id="view-{other.pk}"' in page
    assert 'aria-current="true"' not in counts(viewer)


def test_a_name_that_is_used_again_gets_the_new_filters(viewer):
    save(viewer, "Mine", "state=error")
    save(viewer, "Mine", "state=processed", is_shared="on")
    view = SavedView.objects.get()
    assert (view.query, view.is_shared) == ("state=processed", True)


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("", "A view must have a filter. Narrow the list first."),
        ("p=2", "A view must have a filter. Narrow the list first."),
        ("state=error&q=Ada", "A view keeps filters, not a search"),
        ("gone=1&state=error", "The list has no such filter: gone."),
        ("total__gte=5&state=error", "The list has no such filter: total__gte."),
        ("state=nonsense", "The list has no such filter: state."),
        ("since=nonsense", "The list has no such filter: since."),
        ("customer_email__startswith=a", "no such filter: customer_email__startswith."),
        ("created_at__gte=nonsense", "no longer has these filters"),
        pytest.param(BEFORE_ALL, "no longer has these filters", marks=ON_SQLITE),
        ("state=%00", "no longer has these filters"),
        ("fault=" + "x" * 1000, "characters at most, got 1006"),
    ],
)
def test_what_the_list_does_not_know_is_refused(viewer, query, why):
    assert why in save(viewer, "Mine", query)
    assert not SavedView.objects.exists()


@pytest.mark.parametrize("name", ["", "x" * 81, "Orders of ada@example.org", "a\x00b"])
def test_a_name_that_cannot_be_kept_is_refused(viewer, name):
    save(viewer, name)
    assert not SavedView.objects.exists()


def test_only_who_may_see_a_list_saves_a_view_of_it(db):
    nobody = Client()
    nobody.force_login(get_user_model().objects.create_user("nobody", is_staff=True))
    form = {"list": "orders.order", "query": "state=error", "name": "Mine"}
    assert nobody.post(f"{SAVED}save/", form).status_code == 403
    assert nobody.get(f"{SAVED}links/", {"list": "orders.order"}).status_code == 403
    assert nobody.get(SAVED).status_code == 403
    assert not SavedView.objects.exists()


def test_a_list_that_has_no_views_is_not_found(viewer):
    form = {"list": "workers.alert", "query": "is=open", "name": "Mine"}
    assert viewer.post(f"{SAVED}save/", form).status_code == 404
    assert viewer.get(f"{SAVED}save/").status_code == 405


def test_a_search_is_told_that_it_is_not_kept(viewer):
    page = viewer.get(ORDERS, {"q": "Ada", "state": "error"}).content.decode()
    assert "A view keeps filters, not a search" in page
    assert f'action="{SAVED}save/"' not in page
    assert "Save this view" not in viewer.get(ORDERS).content.decode()


# ---------------------------------------------------------------- whose they are


def test_a_view_is_its_owner_s_until_it_is_shared(viewer):
    other = staff("other")
    view = view_of(viewer, "Private one")
    for url in (SAVED, f"{SAVED}links/?list=orders.order"):
        assert "Private one" in viewer.get(url).content.decode()
        assert "Private one" not in other.get(url).content.decode()
    saved_views.change(view.pk, "Private one", is_shared=True)
    for url in (SAVED, f"{SAVED}links/?list=orders.order"):
        page = other.get(url).content.decode()
        assert "Private one" in page
        assert "viewer" in page


def test_shared_view_is_hidden_from_user_who_may_not_see_its_list(viewer):
    view_of(viewer, "Shared one", is_shared=True)
    client = Client()
    user = get_user_model().objects.create_user("flows", is_staff=True)
    ours = Permission.objects.filter(codename="view_process")
    user.user_permissions.add(*ours)
    client.force_login(user)
    assert "Shared one" not in client.get(SAVED).content.decode()


@pytest.mark.parametrize(
    ("permissions", "is_shared", "may_change", "may_delete"),
    [
        ((), True, False, False),
        (("change_savedview",), True, True, False),
        (("delete_savedview",), True, False, True),
        (("change_savedview", "delete_savedview"), False, False, False),
    ],
)
def test_views_of_others_are_changed_by_who_has_the_right(
    viewer, permissions, is_shared, may_change, may_delete
):
    other = staff("other", *permissions)
    view = view_of(viewer, is_shared=is_shared)
    other.post(f"{SAVED}{view.pk}/change/", {"name": "Taken over", "is_shared": "on"})
    view.refresh_from_db()
    assert (view.name == "Taken over") is may_change
    other.post(f"{SAVED}{view.pk}/delete/", {"post": "yes"})
    assert SavedView.objects.exists() is not may_delete


def test_owners_rename_share_and_delete_their_own(viewer):
    view = view_of(viewer)
    answer = viewer.post(f"{SAVED}{view.pk}/change/", {"name": "Renamed", "is_shared": "on"})
    assert answer.status_code == 302
    view.refresh_from_db()
    assert (view.name, view.is_shared, view.query) == ("Renamed", True, "state=error")
    assert viewer.post(f"{SAVED}{view.pk}/delete/", {"post": "yes"}).status_code == 302
    assert not SavedView.objects.exists()


def test_a_view_is_not_renamed_to_another_or_to_a_mail_address(viewer):
    view_of(viewer, "First")
    view = view_of(viewer, "Second")
    for name, why in (("First", "Another view of this list"), ("a@example.org", "no mail address")):
        page = viewer.post(f"{SAVED}{view.pk}/change/", {"name": name}).content.decode()
        assert why in page
    view.refresh_from_db()
    assert view.name == "Second"


def test_a_name_that_was_taken_after_the_form_had_looked_for_it_is_an_error_of_the_form(
    viewer, monkeypatch
):
    view_of(viewer, "First")
    view = view_of(viewer, "Second")
    real, looks = ViewForm.clean_name, []

    def too_early(form: ViewForm) -> str:
        looks.append(form)
        return str(form.cleaned_data["name"]) if len(looks) == 1 else real(form)

    monkeypatch.setattr(ViewForm, "clean_name", too_early)
    answer = viewer.post(f"{SAVED}{view.pk}/change/", {"name": "First"})
    assert answer.status_code == 200
    assert "Another view of this list has that name." in answer.content.decode()
    view.refresh_from_db()
    assert view.name == "Second"


def test_of_two_who_rename_at_once_the_second_is_refused(viewer):
    view_of(viewer, "First")
    view = view_of(viewer, "Second")
    with pytest.raises(StateError, match="must have a name of its own in its list, got 'First'"):
        saved_views.change(view.pk, "First", is_shared=True)
    view.refresh_from_db()
    assert (view.name, view.is_shared) == ("Second", False)


def test_the_store_takes_no_text_that_no_database_holds(viewer):
    view = view_of(viewer)
    for name in ("a\x00b", "\ud800", "x" * 81):
        with pytest.raises(BadText):
            view_of(viewer, name)
        with pytest.raises(BadText):
            saved_views.change(view.pk, name, is_shared=False)
    with pytest.raises(BadText):
        view_of(viewer, query="state=\x00")


def test_what_is_gone_is_neither_changed_nor_deleted(db):
    assert not saved_views.change(1, "Gone", is_shared=False)
    assert not saved_views.delete(1)


# ---------------------------------------------------------------- counts


def test_views_are_counted_where_the_list_asks_for_it(viewer):
    order_in_error()
    order_in_error()
    order_with()
    view_of(viewer, "Errors", "state=error")
    view_of(viewer, "Paused", "paused=yes")
    page = viewer.get(ORDERS).content.decode()
    assert f'hx-get="{SAVED}links/?list=orders.order&amp;shown="' in page
    # Without JavaScript this leads to them.
    assert f'href="{SAVED}?of_list=orders.order"' in page
    fragment = counts(viewer)
    assert "Errors <strong>2</strong>" in fragment
    assert "Paused <strong>0</strong>" in fragment
    assert ">Orders: 2</a>" in viewer.get(SAVED).content.decode()


def test_counts_stop_at_a_bound(viewer, monkeypatch):
    monkeypatch.setattr(view_lists, "COUNTED", 1)
    monkeypatch.setattr("workers.desk.admin.paging.COUNTED", 1)
    for _ in range(3):
        order_in_error()
    view_of(viewer)
    assert "Errors <strong>1+</strong>" in counts(viewer)


def test_mine_are_those_of_who_looks(viewer):
    view_of(viewer, "Mine", "owner=me", of_list="desk.incident", is_shared=True)
    assert "Mine <strong>0</strong>" in counts(staff("other"), "desk.incident")


@pytest.mark.parametrize(
    ("label", "query", "why"),
    [
        ("orders.order", "gone=1", "The list has no such filter: gone."),
        ("orders.order", "total__gte=5", "The list has no such filter: total__gte."),
        ("orders.order", "state=gone", "The list has no such filter: state."),
        ("orders.order", "created_at__gte=x", "no longer has these filters"),
        pytest.param("orders.order", BEFORE_ALL, "no longer has", marks=ON_SQLITE),
        ("orders.gone", "state=error", "Its list is gone."),
    ],
)
def test_a_view_whose_list_or_filters_are_gone_says_so(viewer, label, query, why):
    view = view_of(viewer, "Old", query, of_list=label)
    view_of(viewer, "Good")
    assert why in viewer.get(SAVED).content.decode()
    assert viewer.get(f"{SAVED}{view.pk}/change/").status_code == 200
    if label == "orders.order":
        fragment = counts(viewer)
        assert why in fragment
        assert "Good <strong>0</strong>" in fragment


def test_a_list_that_its_owner_may_not_see_any_more_says_so(viewer):
    view_of(viewer, "Old")
    user = get_user_model().objects.get(pk=user_of(viewer))
    user.user_permissions.remove(*user.user_permissions.filter(codename="view_order"))
    assert "You may not see its list." in viewer.get(SAVED).content.decode()


def test_views_by_one_cause_are_not_counted_here(viewer):
    view_of(viewer, "Cause", "cause=0123456789abcdef")
    fragment = counts(viewer)
    assert "Cause" in fragment
    assert "<strong>" not in fragment


def test_a_view_that_its_list_cannot_show_leads_to_its_own_page(viewer):
    view = view_of(viewer, "Old", "gone=1")
    assert f'href="{SAVED}{view.pk}/change/">Old' in counts(viewer)


# ---------------------------------------------------------------- costs


def queries(client: Client, url: str) -> int:
    client.get(url)
    with CaptureQueriesContext(connection) as captured:
        assert client.get(url).status_code == 200
    return len(captured)


@pytest.mark.parametrize("label", LISTS)
def test_saved_views_add_no_query_to_list_and_links_take_few(viewer, label):
    url, query = LISTS[label]
    without = queries(viewer, url)
    filters = ["state=error", "needs=someone", "paused=yes", "step=charge_payment", "cause=gone"]
    for place in range(view_lists.SHOWN + 1):
        chosen = query if label == "desk.incident" else filters[place % len(filters)]
        view_of(viewer, f"View {place:02}", chosen, of_list=label)
    assert queries(viewer, url) == without
    assert queries(viewer, f"{SAVED}links/?{urlencode({'list': label})}") < 10
    assert queries(viewer, SAVED) < 12
    fragment = counts(viewer, label)
    assert "View 11" in fragment
    assert "View 12" not in fragment


def test_its_list_asks_htmx_for_no_style_that_the_policy_forbids(operator):
    assert 'name="htmx-config"' in operator.get(SAVED).content.decode()
