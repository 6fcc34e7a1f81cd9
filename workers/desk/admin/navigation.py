"""The desk's part of an admin's navigation: its lists and pages by what a person does."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.apps import apps
from django.http import HttpRequest
from django.urls import NoReverseMatch, reverse
from django.utils.translation import gettext_lazy as lazy

from workers.desk.admin.wording import Text

APP = "workers"


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the admin; without a permission it is for everybody who sees any of the desk."""

    #: Begins with the name of the model below whose list it is.
    url_name: str
    label: Text
    permission: str = ""
    query: str = ""

    def url(self, request: HttpRequest) -> str:
        """Return its address in the admin site that answers; empty: that has no such page."""
        site = getattr(request, "current_app", None)
        try:
            return reverse(f"admin:{APP}_{self.url_name}", current_app=site) + self.query
        except NoReverseMatch:
            return ""

    def line(self, request: HttpRequest) -> dict[str, Any] | None:
        """Return what an admin site says of a model; None: it is not for this user."""
        may = not self.permission or request.user.has_perm(self.permission)
        if not (may and (url := self.url(request))):
            return None
        return {
            "model": apps.get_model(APP, self.url_name.partition("_")[0]),
            "name": str(self.label),
            "object_name": self.url_name,
            "perms": {"add": False, "change": False, "delete": False, "view": True},
            "admin_url": url,
            "add_url": None,
            "view_only": True,
        }


@dataclass(frozen=True, slots=True)
class Group:
    """What stands under one title: models by name, and pages."""

    title: Text
    entries: tuple[str | Page, ...]


WAITING = Page("process_waiting", lazy("Waiting for somebody"))
MINE = Page(
    *("incident_changelist", lazy("My incidents"), "workers.view_incident", "?owner=me&is=open")
)
PAUSED = Page(
    *("bulkjob_changelist", lazy("Paused jobs"), "workers.view_bulkjob", "?state__exact=paused")
)
CAUSES = Page("process_causes", lazy("Causes of errors"), "workers.view_process")
HAND_OVER = Page("incident_hand_over", lazy("Hand-over"), "workers.hand_over_incident")
GROUPS = (
    Group(lazy("Needs me"), (WAITING, "undorequest", MINE, PAUSED, "savedview")),
    Group(lazy("Processes and jobs"), ("process", CAUSES, "bulkjob", "sink")),
    Group(lazy("Incidents and routes"), ("incident", "alert", HAND_OVER, "route", "delivery")),
    Group(lazy("Flow and holds"), ("flow", "hold")),
    Group(lazy("Health, doctor and audit"), ("minute", "proberesult", "lease", "act")),
)
#: Of models that no group names.
MORE = lazy("More")


def in_groups(request: HttpRequest, app_list: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return an admin site's apps with an entry for each group in place of the engine's.

    Other apps' entries are as they were, and so are groups.
    """
    found: list[dict[str, Any]] = []
    for app in app_list:
        is_whole = app["app_label"] == APP and "current_url" not in app
        found += _groups(request, app) if is_whole else [app]
    return found


def _groups(request: HttpRequest, app: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    models = {model["object_name"].lower(): model for model in app["models"]}
    groups = [(group.title, _lines(request, group, models)) for group in GROUPS]
    # What a group shows is taken out of the models.
    groups.append((MORE, [*models.values()]))
    here = request.get_full_path()
    urls = [line["admin_url"] or "" for _title, lines in groups for line in lines]
    current = max((url for url in urls if url and here.startswith(url)), key=len, default="")
    for title, lines in groups:
        if lines:
            is_current = any(line["admin_url"] == current for line in lines)
            yield {
                **app,
                "name": str(title),
                # The id that Django's template gives the first line of it.
                "app_url": f"{app['app_url']}#{APP}-{lines[0]['object_name'].lower()}",
                "models": lines,
                # Of the line whose page is shown, or one below it; empty: none of the group.
                "current_url": current if is_current else "",
            }


def _lines(
    request: HttpRequest, group: Group, models: dict[str, dict[str, Any]]
) -> list[dict[str, Any]]:
    found = (
        models.pop(entry, None) if isinstance(entry, str) else entry.line(request)
        for entry in group.entries
    )
    return [line for line in found if line]
