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

#: gunicorn ends on this exit code, and starts the process again on others.
CANNOT_LOAD = 4
_CHARSET = re.compile(r";\s*charset\s*=[^;]*", re.IGNORECASE)


def _load() -> WSGIHandler:
    """Return Django's application; end the process where it cannot work, with the reasons."""
    try:
        application = get_wsgi_application()
        from workers.celery import starting

        if found := list(starting.problems()):
            raise ImproperlyConfigured("\n".join(found))
    except Exception as error:
        said = refusals.explain(error)
        if said is None:
            raise
        sys.stderr.write(f"{said}\n")
        raise SystemExit(CANNOT_LOAD) from None
    return application


os.environ.setdefault("DJANGO_SETTINGS_MODULE", "sasproject.settings")
_django = _load()


def application(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
    """Answer a request, read as UTF-8 whatever charset it gives itself.

    Django decodes the query by it while it makes the request, where no handler of errors is
    yet: ``charset=hex`` would be a server error, and ``utf-7`` lets half characters in.
    """
    if "CONTENT_TYPE" in environ:
        environ["CONTENT_TYPE"] = _CHARSET.sub("", environ["CONTENT_TYPE"])
    return _django(environ, start_response)
