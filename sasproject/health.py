"""Liveness and readiness for load balancers and process managers.

`/livez` depends on nothing: a database outage must not restart the web processes.
`/readyz` says whether this process can take orders, which needs a database that it can write
to, and nothing else: a broker that is down delays orders and refuses none.
"""

from django.db import DatabaseError, InterfaceError
from django.http import HttpRequest, JsonResponse

from workers.runtime import db_connections


def live(request: HttpRequest) -> JsonResponse:
    return JsonResponse({"live": True})


def ready(request: HttpRequest) -> JsonResponse:
    try:
        db_connections.require_writable()
    except (DatabaseError, InterfaceError) as error:
        said = "read-only" if db_connections.is_read_only(error) else "unreachable"
        return JsonResponse({"ready": False, "database": said}, status=503)
    return JsonResponse({"ready": True})
