"""The answer to a login after too many failures."""

from typing import Any

from django.conf import settings
from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render


def show(request: HttpRequest, answer: HttpResponse | None, credentials: Any) -> HttpResponse:
    """Say how long to wait, instead of the login page; even a good password is not checked."""
    seconds = int(settings.AXES_COOLOFF_TIME.total_seconds())
    context = {
        **admin.site.each_context(request),
        "minutes": seconds // 60,
        "is_address_locked": getattr(request, "is_address_locked", False),
    }
    response = render(request, "admin/orders/locked_out.html", context, status=429)
    response["Retry-After"] = str(seconds)
    response["Cache-Control"] = "no-store"
    return response
