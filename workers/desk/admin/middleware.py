"""Middleware of the admin: visible text, the viewer's time zone, the desk's lists in groups."""

import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django.apps import apps
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.deprecation import MiddlewareMixin
from django.utils.encoding import escape_uri_path

from workers.desk.admin.navigation import in_groups
from workers.desk.store import preferences
from workers.runtime.visible_text import escaped, unseen

#: Where the session keeps the name of the time zone.
KEPT_ZONE = "sas_time_zone"
#: Where the session keeps whether the keys of lists are switched off.
KEYS_OFF = "sas_keys_off"

#: Tabs and line ends belong to the page and stay as they are.
_UNSEEN = unseen(keep="\t\n\r")
#: Values of form fields stay as they are, so that they are sent back unchanged.
_PARTS = re.compile(
    rf"""(<textarea\b.*?</textarea>|\svalue="[^"]*")|{_UNSEEN.pattern}""", re.DOTALL
)


class VisibleText(MiddlewareMixin):
    """Shows control, bidirectional and invisible characters as escapes on pages of an admin."""

    def process_response(self, request: HttpRequest, response: Any) -> Any:
        if isinstance(response, HttpResponse) and _is_page_of_admin(request, response):
            text = response.content.decode(response.charset)
            if _UNSEEN.search(text):
                response.content = _PARTS.sub(lambda match: match[1] or escaped(match), text)
        return response


class ViewerTimeZone:
    """Shows times in the time zone that the user of an admin has chosen for themselves.

    The session keeps the choice, so that a page costs no additional query.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        try:
            return self._get_response(request)
        finally:
            timezone.deactivate()

    def process_view(self, request: HttpRequest, *_view: Any) -> None:
        if not _is_of_admin(request) or request.user.pk is None:
            return
        if KEPT_ZONE not in request.session:
            chosen = preferences.of_user(request.user.pk)
            request.session[KEPT_ZONE] = chosen.time_zone
            request.session[KEYS_OFF] = not chosen.has_keys
        name = request.session[KEPT_ZONE]
        # A zone that this machine does not know any more counts as none.
        with suppress(ZoneInfoNotFoundError, ValueError):
            timezone.activate(ZoneInfo(name))


class Navigation(MiddlewareMixin):
    """Shows the desk's lists in groups, in the sidebar and on the index of any admin site.

    Redirects URLs of the desk's rows from when they belonged to the engine.
    """

    def process_view(
        self, request: HttpRequest, _view: Any, _args: Any, kwargs: dict[str, Any]
    ) -> HttpResponse | None:
        # The URL that an admin site has no page for.
        path = str(kwargs.get("url", ""))
        app, _, new = path.partition("/")
        is_moved = app == "workers" and new.partition("/")[0] in apps.all_models["desk"]
        if request.method != "GET" or not is_moved or not _is_of_admin(request):
            return None
        query = request.META.get("QUERY_STRING", "")
        url = escape_uri_path(f"{request.path.removesuffix(path)}desk/{new}")
        return redirect(f"{url}?{query}" if query else url)

    def process_template_response(self, request: HttpRequest, response: Any) -> Any:
        context = response.context_data
        if context and "available_apps" in context:
            # The page of one app is titled by its list: its template makes the groups.
            names = {"available_apps"} if "app_label" in context else {"available_apps", "app_list"}
            for name in names & context.keys():
                context[name] = in_groups(request, context[name])
        return response


def _is_page_of_admin(request: HttpRequest, response: HttpResponse) -> bool:
    return response.get("Content-Type", "").startswith("text/html") and _is_of_admin(request)


def _is_of_admin(request: HttpRequest) -> bool:
    match = request.resolver_match
    return match is not None and "admin" in match.app_names
