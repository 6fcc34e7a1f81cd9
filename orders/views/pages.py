"""What every page of the shop needs: its basket's count, and the visitor it belongs to."""

import secrets
import sys
from typing import Any

from django.contrib.sessions.backends.base import SessionBase
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.templatetags.static import static
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe

from orders.basket import Basket
from workers.exceptions import AWAY

VISITOR_KEY = "visitor"


def render_page(
    request: HttpRequest, template: str, context: dict[str, Any], *, status: int = 200
) -> HttpResponse:
    """Render a page of the shop with the basket's count in its header."""
    context.setdefault("basket_count", len(Basket(request.session)))
    return render(request, template, context, status=status)


@require_safe
@cache_control(public=True, max_age=86_400)
def icon(request: HttpRequest) -> HttpResponse:
    """Lead browsers to the icon that look for it by themselves, where no page named it."""
    return redirect(static("orders/lantern.svg"))


def broken(request: HttpRequest) -> HttpResponse:
    """Answer for a page that raised, of the shop or of the admin: 503 where the database is away.

    Django calls this while it handles the error, wherever in the request it came from.
    """
    if not isinstance(sys.exception(), AWAY):
        return HttpResponse(render_to_string("500.html"), status=500)
    return HttpResponse(render_to_string("503.html"), status=503)


def submitter(session: SessionBase) -> str:
    """Return the name under which this session submits orders, made at the first call.

    Submission keys count per submitter: a key that somebody else used means nothing here.
    """
    visitor = session.get(VISITOR_KEY)
    if visitor is None:
        visitor = session[VISITOR_KEY] = secrets.token_urlsafe(16)
    return f"shop:{visitor}"


def known_submitter(session: SessionBase) -> str | None:
    """Return the session's submitter, or None while it cannot have submitted anything."""
    return submitter(session) if VISITOR_KEY in session else None
