"""One line of the log for each request: what was asked, and how it was answered."""

import logging
from collections.abc import Callable
from time import monotonic

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from structlog.contextvars import clear_contextvars

log = logging.getLogger(__name__)


class AccessLog:
    """Logs requests; a view binds ``order`` to have its number in every line of its request.

    Not the query: it may name a person.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        # The thread has served others.
        clear_contextvars()
        began = monotonic()
        response = self._get_response(request)
        fields = {
            "method": request.method,
            "path": request.path,
            "status": response.status_code,
            "ms": round((monotonic() - began) * 1000),
        }
        log.info("request", extra=fields)
        return response


class DropUnavailable(logging.Filter):
    """Drops Django's line about a 503: the request's own line says the same."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Return False for such a line."""
        is_unavailable = getattr(record, "status_code", 0) == 503 and not record.exc_info
        return not (record.name == "django.request" and is_unavailable)
