"""The desk's part of an admin's navigation: its lists and pages by what a person does."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.apps import apps
from django.http import HttpRequest
from django.urls import NoReverseMatch, reverse
from django.utils.translation import gettext_lazy as lazy

from workers.desk.admin.wording import Text

#: Apps whose lists are in groups; the page of either app shows all of them.
APPS = ("workers", "desk")
#: What the admin says of a model, as a site lists it for a user.
Line = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the admin; without a permission it is for everybody who sees any of the desk."""

    #: Begins with the app and the name of the model whose list it is below.
    url_name: str
    label: Text
    permission: str = ""
    query: str = ""

    def line(self, request: HttpRequest) -> Line | None:
        """Return what an admin site says of a model; None if this user or site does not have it."""
        site = getattr(request, "current_app", None)
        app, model, _rest = self.url_name.split("_", 2)
        try:
            url = reverse(f"admin:{self.url_name}", current_app=site)
        except NoReverseMatch:
            return None
        if self.permission and not request.user.has_perm(self.permission):
            return None
        return {
            "model": apps.get_model(app, model),
            "name": str(self.label),
            "object_name": self.url_name,
            "perms": {"view": True},
            "admin_url": url + self.query,
            "add_url": None,
            "view_only": True,
        }


#: A model by name, or a page.
Entry = str | Page
WAITING = Page("workers_process_waiting", lazy("Waiting for somebody"))
MINE = Page("desk_incident_changelist", lazy("My incidents"), "desk.view_incident", "?owner=me")
PAUSED = Page(
    *("desk_bulkjob_changelist", lazy("Paused jobs"), "desk.view_bulkjob", "?state__exact=paused")
)
CAUSES = Page("workers_process_causes", lazy("Causes of errors"), "workers.view_process")
HAND_OVER = Page("desk_incident_hand_over", lazy("Hand-over"), "desk.hand_over_incident")
PERSON = Page("workers_process_person", lazy("Data of one person"), "workers.erase_person")
#: What stands under each title.
GROUPS: Sequence[tuple[Text, Sequence[Entry]]] = (
    (lazy("Needs me"), (WAITING, "undorequest", MINE, PAUSED, "savedview")),
    (lazy("Processes and jobs"), ("process", CAUSES, "bulkjob", "schedule", "sink")),
    (lazy("Incidents and routes"), ("incident", "alert", HAND_OVER, "route", "delivery")),
    (lazy("Flow and holds"), ("flow", "hold")),
    (lazy("Health, doctor and audit"), ("minute", "proberesult", "lease", "act", PERSON)),
)


def in_groups(request: HttpRequest, app_list: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return an admin site's apps with an entry for each group in place of engine and desk.

    Entries of other apps, and groups, stay as they are.
    """
    ours = {app["app_label"]: app for app in app_list if not is_group(app)}
    ours = {label: ours[label] for label in APPS if label in ours}
    models = [model for app in ours.values() for model in app["models"]]
    first_label = next(iter(ours), "")
    entries: list[dict[str, Any]] = []
    for app in app_list:
        if is_group(app) or app["app_label"] not in ours:
            entries.append(app)
        elif app["app_label"] == first_label:
            entries += _groups(request, {**app, "app_label": APPS[0], "models": models})
    return entries


def is_group(app: dict[str, Any]) -> bool:
    """Return whether an entry is a group, and not an app."""
    return "current_url" in app


def _groups(request: HttpRequest, app: dict[str, Any]) -> list[dict[str, Any]]:
    models = {model["object_name"].lower(): model for model in app["models"]}
    groups = [(title, _lines(request, entries, models)) for title, entries in GROUPS]
    # Groups took their lines out of the models: the others are in no group.
    groups.append((lazy("More"), [*models.values()]))
    urls = [line["admin_url"] or "-" for _title, lines in groups for line in lines]
    # The longest match: of a list and a page below it, the page.
    current = max(filter(request.get_full_path().startswith, urls), key=len, default="")
    return [
        {
            **app,
            "name": str(title),
            # The id that Django's template gives the first line of the group.
            "app_url": f"{app['app_url']}#{app['app_label']}-{lines[0]['object_name'].lower()}",
            "models": lines,
            # The line of the current page; empty if it is not in this group.
            "current_url": current if any(line["admin_url"] == current for line in lines) else "",
        }
        for title, lines in groups
        if lines
    ]


def _lines(request: HttpRequest, entries: Sequence[Entry], models: dict[str, Line]) -> list[Line]:
    lines = (
        models.pop(entry, None) if isinstance(entry, str) else entry.line(request)
        for entry in entries
    )
    return [line for line in lines if line]
