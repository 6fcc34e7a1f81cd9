"""The WSGI entry point: `gunicorn sasproject.wsgi`."""

import os
import re
from collections.abc import Iterable
from typing import Any

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "sasproject.settings")
_django = get_wsgi_application()
_CHARSET = re.compile(r";\s*charset\s*=[^;]*", re.IGNORECASE)


def application(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
    """Answer a request, read as UTF-8 whatever charset it gives itself.

    Django decodes the query by it while it makes the request, where no handler of errors is
    yet: ``charset=hex`` would be a server error, and ``utf-7`` lets half characters in.
    """
    if "CONTENT_TYPE" in environ:
        environ["CONTENT_TYPE"] = _CHARSET.sub("", environ["CONTENT_TYPE"])
    return _django(environ, start_response)
