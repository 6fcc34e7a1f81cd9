"""The WSGI entry point: `gunicorn sasproject.wsgi`."""

import os
import re
import sys
from collections.abc import Iterable
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.handlers.wsgi import WSGIHandler
from django.core.wsgi import get_wsgi_application

from sasproject import refusals

#: gunicorn ends on this exit code; on others it restarts the process.
CANNOT_LOAD = 4
_CHARSET = re.compile(r";\s*charset\s*=[^;]*", re.IGNORECASE)


def _load() -> WSGIHandler:
    """Return Django's application; if it cannot work, exit with the reasons."""
    try:
        application = get_wsgi_application()
        from workers.celery import starting

        if problems := list(starting.problems("web")):
            raise ImproperlyConfigured("\n".join(problems))
    except Exception as error:
        message = refusals.explain(error)
        if message is None:
            raise
        sys.stderr.write(f"{message}\n")
        raise SystemExit(CANNOT_LOAD) from None
    return application


os.environ.setdefault("DJANGO_SETTINGS_MODULE", "sasproject.settings")
_django = _load()


def application(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
    """Answer a request, decoded as UTF-8 whatever charset it declares.

    Django decodes the query by the declared charset before any error handler is active:
    ``charset=hex`` would be a server error, and ``utf-7`` would let lone surrogates in.
    """
    if "CONTENT_TYPE" in environ:
        environ["CONTENT_TYPE"] = _CHARSET.sub("", environ["CONTENT_TYPE"])
    return _django(environ, start_response)
