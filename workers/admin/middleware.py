"""What others wrote, on every page of the admin: visible, whoever's template shows it."""

import re
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

from workers.runtime.visible_text import escaped, unseen

#: What ends a line of a page is no text of anybody.
_UNSEEN = unseen(keep="\t\n\r")
#: What is typed goes back as it is: it is not shown as a word of ours.
_PARTS = re.compile(
    rf"""(<textarea\b.*?</textarea>|\svalue="[^"]*")|{_UNSEEN.pattern}""", re.DOTALL
)


class VisibleText:
    """Shows control characters, and what turns or hides text, as escapes on pages of an admin."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self._get_response(request)
        if isinstance(response, HttpResponse) and _is_page_of_admin(request, response):
            text = response.content.decode(response.charset)
            if _UNSEEN.search(text):
                response.content = _PARTS.sub(lambda one: one[1] or escaped(one), text)
        return response


def _is_page_of_admin(request: HttpRequest, response: HttpResponse) -> bool:
    match = request.resolver_match
    is_page = response.get("Content-Type", "").startswith("text/html")
    return is_page and match is not None and "admin" in match.app_names
