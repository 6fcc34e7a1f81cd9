"""The desk's lists and pages stand by what a person does, on the index, its page and everywhere."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.template import engines
from django.template.response import TemplateResponse
from django.test import Client, RequestFactory
from django.test.utils import CaptureQueriesContext
from django.urls import path
from playwright.sync_api import expect

from tests import axe
from tests.admin.test_accessible import THEMES, WIDTHS, open_page
from workers import desk
from workers.desk.admin import navigation
from workers.desk.admin.middleware import Navigation
from workers.desk.admin.navigation import GROUPS, in_groups
from workers.desk.models import Incident, Preferences

DESK_PAGE = Path(desk.__file__).parent / "templates/admin/workers/app_index.html"
TITLES = [
    "Needs me",
    "Processes and jobs",
    "Incidents and routes",
    "Flow and holds",
    "Health, doctor and audit",
]


def person(name: str, *rights: str) -> Client:
    """Return the client of somebody who may do this and nothing else."""
    user = get_user_model().objects.create_user(name, is_staff=True)
    for right in rights:
        app, codename = right.split(".")
        user.user_permissions.add(
            Permission.objects.get(content_type__app_label=app, codename=codename)
        )
    client = Client()
    client.force_login(user)
    return client


def of_desk(apps: list[dict[str, Any]]) -> dict[str, list[str]]:
    return {
        app["name"]: [str(line["name"]) for line in app["models"]]
        for app in apps
        if app["app_label"] == "workers"
    }


def request_of(user: Any, url: str = "/admin/") -> HttpRequest:
    request = RequestFactory().get(url)
    request.user = user
    return request


def passed(request: HttpRequest, answer: Any) -> Any:
    """Return an answer as the middleware leaves it, before it is made a page."""
    return Navigation(lambda request: HttpResponse()).process_template_response(request, answer)


@pytest.fixture
def sidebar() -> Iterator[None]:
    """The sidebar, which the shop has switched off."""
    admin.site.enable_nav_sidebar = True
    yield
    admin.site.enable_nav_sidebar = False


@pytest.fixture
def root(db) -> Any:
    return get_user_model().objects.create_superuser("root")


def test_every_list_of_the_desk_is_named_once():
    named = [entry for _title, entries in GROUPS for entry in entries if isinstance(entry, str)]
    registered = {
        model._meta.model_name
        for model in admin.site._registry
        if model._meta.app_label in navigation.APPS
    }
    # A page of each user's own, to which the time zone at the top leads.
    assert sorted(named) == sorted(registered - {Preferences._meta.model_name})


def test_every_page_that_is_named_is_there(admin_client):
    request = request_of(get_user_model().objects.get())
    pages = [one for _title, entries in GROUPS for one in entries if not isinstance(one, str)]
    assert len(pages) == 6
    for one in pages:
        line = one.line(request)
        assert line
        assert admin_client.get(line["admin_url"]).status_code == 200, one


@pytest.mark.parametrize("url", ["/admin/", "/admin/workers/", "/admin/desk/"])
def test_a_superuser_sees_all_groups_in_order(admin_client, url):
    answer = admin_client.get(url)
    html = answer.content.decode()
    places = [html.index(f">{title}</a>") for title in TITLES]
    assert places == sorted(places)
    assert ">More</a>" not in html
    for entries in of_desk(in_groups(answer.wsgi_request, answer.context["app_list"])).values():
        for name in entries:
            assert name in html


def test_the_page_of_the_desk_keeps_its_title_and_way_back(admin_client):
    answer = admin_client.get("/admin/workers/")
    assert answer.context["title"] == "Workflows administration"
    crumbs = answer.content.decode().split('<div class="breadcrumbs">')[1].split("</div>")[0]
    assert "Workflows" in crumbs
    assert "Needs me" not in crumbs


def test_the_page_of_a_project_without_the_shop_has_the_groups(root):
    """The shop has a template in place of the desk's; a guest's project has the desk's."""
    request = request_of(root, "/admin/workers/")
    answer = admin.site.app_index(request, "workers")
    answer.template_name = engines["django"].from_string(DESK_PAGE.read_text(encoding="utf-8"))
    html = answer.render().content.decode()
    places = [html.index(f">{title}</a>") for title in ("All incidents", *TITLES)]
    assert places == sorted(places)
    assert "workers/live.js" in html


def test_who_may_see_little_sees_no_empty_group():
    client = person("flows", "workers.view_flow", "desk.view_incident")
    answer = client.get("/admin/")
    assert of_desk(answer.context["app_list"]) == {
        "Needs me": ["Waiting for somebody", "My incidents", "Saved views"],
        "Incidents and routes": ["Incidents"],
        "Flow and holds": ["Flow"],
    }
    assert of_desk(answer.context["available_apps"]) == of_desk(answer.context["app_list"])


def test_who_may_see_rows_of_the_desk_alone_has_the_groups_on_its_page():
    client = person("keeper", "desk.view_route")
    answer = client.get("/admin/desk/")
    assert answer.context["title"] == "Operators' desk administration"
    html = answer.content.decode()
    for group in in_groups(answer.wsgi_request, answer.context["available_apps"]):
        if navigation.is_group(group):
            assert group["app_url"].startswith("/admin/desk/#")
            assert f'id="{group["app_url"].partition("#")[2]}"' in html
    assert of_desk(client.get("/admin/").context["app_list"]) == {
        "Needs me": ["Waiting for somebody"],
        "Incidents and routes": ["Routes"],
    }


@pytest.mark.parametrize("rest", ["", "7/change/?from=mail&a=%C3%A9", "no/such/page/"])
@pytest.mark.parametrize("model", ["route", "bulkjob", "minute", "savedview"])
def test_addresses_from_when_its_rows_were_the_engine_s_lead_on(model, rest):
    answer = Client().get(f"/admin/workers/{model}/{rest}")
    assert (answer.status_code, answer["Location"]) == (302, f"/admin/desk/{model}/{rest}")


def test_no_other_address_leads_on(admin_client):
    assert admin_client.get("/admin/workers/sink/").status_code == 200
    assert admin_client.get("/admin/workers/no-such/").status_code == 404
    assert admin_client.get("/admin/others/route/").status_code == 404
    assert admin_client.post("/admin/workers/route/7/test/").status_code == 404


def test_who_may_see_nothing_of_the_desk_is_shown_nothing_of_it():
    client = person("editor", "orders.view_product")
    answer = client.get("/admin/")
    assert [app["app_label"] for app in answer.context["app_list"]] == ["orders"]
    assert "Needs me" not in answer.content.decode()
    assert client.get("/admin/workers/").status_code == 404


def test_a_list_that_no_group_names_is_under_more(root, monkeypatch):
    rest = [group for group in GROUPS if "flow" not in group[1]]
    monkeypatch.setattr(navigation, "GROUPS", rest)
    request = request_of(root)
    found = of_desk(in_groups(request, admin.site.get_app_list(request)))
    assert [*found][-1] == "More"
    assert found["More"] == ["Flow", "Holds"]


def test_what_belongs_to_others_is_untouched(root):
    request = request_of(root)
    before = admin.site.get_app_list(request)
    after = in_groups(request, before)
    others = [app for app in before if app["app_label"] not in navigation.APPS]
    assert len(others) > 2
    assert [app for app in after if app["app_label"] != "workers"] == others
    # The groups stand where the engine's list stood, and what the site says itself is as it was.
    labels = [app["app_label"] for app in after]
    place = [app["app_label"] for app in before if app["app_label"] != "desk"].index("workers")
    assert labels[place : place + len(TITLES)] == ["workers"] * len(TITLES)
    assert before == admin.site.get_app_list(request)


def test_addresses_and_rights_are_as_django_has_them(root):
    request = request_of(root)
    whole = [app for app in admin.site.get_app_list(request) if app["app_label"] in navigation.APPS]
    groups = in_groups(request, whole)
    lines = [line for group in groups for line in group["models"]]
    models = [model for app in whole for model in app["models"]]
    assert [model for model in models if model not in lines] == []
    assert {line["admin_url"] for line in lines} - {one["admin_url"] for one in models} == {
        "/admin/workers/process/waiting/",
        "/admin/workers/process/causes/",
        "/admin/desk/incident/hand-over/",
        "/admin/desk/incident/?owner=me",
        "/admin/desk/bulkjob/?state__exact=paused",
        "/admin/workers/process/person/",
    }
    assert all(group["app_url"].startswith("/admin/workers/#workers-") for group in groups)


def test_a_group_leads_to_its_place_on_the_page_of_the_desk(admin_client):
    answer = admin_client.get("/admin/workers/")
    html = answer.content.decode()
    for group in in_groups(answer.wsgi_request, answer.context["app_list"]):
        assert f'id="{group["app_url"].partition("#")[2]}"' in html


def test_groups_are_not_grouped_again(root):
    request = request_of(root)
    once = in_groups(request, admin.site.get_app_list(request))
    assert in_groups(request, once) == once


@pytest.mark.parametrize(
    ("url", "title", "entry"),
    [
        ("/admin/desk/incident/7/change/", "Incidents and routes", "/admin/desk/incident/"),
        ("/admin/desk/incident/?owner=me", "Needs me", "/admin/desk/incident/?owner=me"),
        (
            "/admin/desk/incident/?owner=nobody",
            "Incidents and routes",
            "/admin/desk/incident/",
        ),
        ("/admin/workers/process/waiting/", "Needs me", "/admin/workers/process/waiting/"),
        ("/admin/workers/process/", "Processes and jobs", "/admin/workers/process/"),
        ("/admin/orders/order/", "", ""),
    ],
)
def test_one_group_is_where_the_page_is(root, url, title, entry):
    request = request_of(root, url)
    groups = in_groups(request, admin.site.get_app_list(request))
    found = [(group["name"], group["current_url"]) for group in groups if group.get("current_url")]
    assert found == ([(title, entry)] if title else [])


def test_a_site_without_a_page_leaves_its_entry_out(root):
    """A project may have registered an admin of its own for a model, without our pages."""
    assert navigation.Page("process_of_nobody", "Nothing").line(request_of(root)) is None


def test_another_site_of_a_project_has_groups_of_what_it_has(root, settings):
    """Which is its own: no page of ours that it does not have is named there."""
    settings.ROOT_URLCONF = __name__
    request = request_of(root, "/own/")
    answer = passed(request, own_site.index(request))
    assert of_desk(answer.context_data["app_list"]) == {
        "Needs me": ["My incidents"],
        "Incidents and routes": ["Incidents"],
    }
    assert answer.context_data["app_list"][1]["models"][0]["admin_url"] == "/own/desk/incident/"
    assert [app["name"] for app in own_site.get_app_list(request)] == ["Operators' desk"]


def test_it_costs_no_query(root):
    request = request_of(root)
    apps = admin.site.get_app_list(request)
    with CaptureQueriesContext(connection) as queries:
        in_groups(request, apps)
    assert len(queries) == 0


def test_an_answer_that_is_no_page_of_an_admin_passes():
    request = RequestFactory().get("/")
    for context in (None, {}, {"app_list": "of somebody's own"}):
        answer = TemplateResponse(request, "500.html", context)
        assert passed(request, answer).context_data == context


def test_the_tabs_of_the_shop_are_few(admin_client):
    html = admin_client.get("/admin/workers/hold/").content.decode()
    tabs = html.split('<nav class="sas-tabs"')[1].split("</nav>")[0]
    for title in TITLES:
        assert f">{title}</a>" in tabs
    assert '<ul aria-label="Flow and holds">' in tabs
    assert tabs.count('aria-current="true"') == tabs.count('aria-current="page"') == 1
    assert ">Audit</a>" not in tabs


def test_a_page_that_is_not_there_has_the_same_tabs(admin_client):
    html = admin_client.get("/admin/no/such/page/").content.decode()
    assert all(f">{title}</a>" in html for title in TITLES)


@pytest.mark.usefixtures("sidebar")
def test_the_sidebar_has_the_groups(admin_client):
    html = admin_client.get("/admin/auth/group/").content.decode()
    sidebar = html.split('id="nav-sidebar"')[1].split("</nav>")[0]
    places = [sidebar.index(f">{title}</a>") for title in TITLES]
    assert places == sorted(places)
    assert "Authentication and Authorization" in sidebar


@pytest.mark.browser
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("width", WIDTHS)
def test_axe_finds_nothing(browser, live_server, admin_client, theme, width):
    page = open_page(browser, live_server.url, admin_client, theme, width)
    for url in ("/admin/workers/", "/admin/workers/hold/", "/admin/workers/process/waiting/"):
        page.goto(url)
        assert axe.violations(page) == [], url
        assert page.evaluate("document.documentElement.scrollWidth") <= width, url


@pytest.mark.browser
@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("sidebar")
def test_axe_finds_nothing_beside_the_sidebar(browser, live_server, admin_client):
    page = open_page(browser, live_server.url, admin_client, "light", 1280)
    page.goto("/admin/workers/hold/")
    expect(page.get_by_role("navigation", name="Sidebar")).to_contain_text("Health, doctor")
    assert axe.violations(page) == []


@pytest.mark.browser
@pytest.mark.django_db(transaction=True)
def test_the_keyboard_reaches_a_list_by_its_group(page):
    page.goto("/admin/orders/order/")
    page.get_by_role("link", name="Flow and holds").focus()
    page.keyboard.press("Enter")
    group = page.get_by_role("list", name="Flow and holds")
    expect(group.get_by_role("link", name="Flow")).to_have_attribute("aria-current", "page")
    group.get_by_role("link", name="Holds").focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url("/admin/workers/hold/")


class IncidentRows(admin.ModelAdmin):  # type: ignore[type-arg]
    """What a project registers itself."""


own_site = admin.AdminSite(name="own")
own_site.register(Incident, IncidentRows)
urlpatterns = [path("own/", own_site.urls), path("admin/", admin.site.urls)]
