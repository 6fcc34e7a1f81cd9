"""Shared by the shop's pages: rendering, error pages, and the visitor of a session."""

import secrets
import sys
from typing import Any

from django.contrib import admin
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
    """Redirect browsers that request /favicon.ico, which no page links to."""
    return redirect(static("orders/lantern.svg"))


def refused(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer a request without the permission that it needs."""
    return _error(request, "403.html", 403)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer a request for an address or a row that does not exist."""
    return _error(request, "404.html", 404)


def forged(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Answer a form that may come from another site."""
    return _error(request, "403_csrf.html", 403)


def _error(request: HttpRequest, template: str, status: int) -> HttpResponse:
    """Answer in the admin's frame on its pages, for users who may see it; else in the shop's."""
    match, context = request.resolver_match, {}
    if match is not None and "admin" in match.app_names and admin.site.has_permission(request):
        context = {**admin.site.each_context(request), "frame": "admin/orders/error.html"}
        # Some pages have a namespace of their own; links must lead to the site's.
        request.current_app = admin.site.name
    return render(request, template, context, status=status)


def broken(request: HttpRequest) -> HttpResponse:
    """Answer for any page that raised: 503 if the database is away, else 500.

    Django calls this while it handles the exception.  Always in the shop's frame, because the
    admin's needs the database.
    """
    if not isinstance(sys.exception(), AWAY):
        return HttpResponse(render_to_string("500.html"), status=500)
    return HttpResponse(render_to_string("503.html"), status=503)


def submitter(session: SessionBase) -> str:
    """Return the name under which this session submits orders, created on the first call.

    Submission keys are per submitter: keys of other visitors do not collide.
    """
    visitor = session.get(VISITOR_KEY)
    if visitor is None:
        visitor = session[VISITOR_KEY] = secrets.token_urlsafe(16)
    return f"shop:{visitor}"


def known_submitter(session: SessionBase) -> str | None:
    """Return the session's submitter, or None while it cannot have submitted anything."""
    return submitter(session) if VISITOR_KEY in session else None
