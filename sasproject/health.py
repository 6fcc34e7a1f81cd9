"""Liveness and readiness for load balancers and process managers.

`/livez` depends on nothing: a database outage must not restart the web processes.
`/readyz` says whether this process can take orders, which needs the database only: a
broker that is down delays orders and refuses none.
"""

from django.db import DatabaseError, connection
from django.http import HttpRequest, JsonResponse


def live(request: HttpRequest) -> JsonResponse:
    return JsonResponse({"live": True})


def ready(request: HttpRequest) -> JsonResponse:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        return JsonResponse({"ready": False, "database": "unreachable"}, status=503)
    return JsonResponse({"ready": True})
