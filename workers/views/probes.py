"""Liveness and readiness for load balancers and process managers.

`/livez` depends on nothing: a database outage must not restart the web processes.
`/readyz` says whether this process can take work, which needs a writable database and nothing
else: a broker that is down delays work and refuses none.

The caller is a machine beside the process, which uses an IP address and plain HTTP.  As views both
are subject to a project's `ALLOWED_HOSTS` and its redirect to HTTPS; the middleware answers before.
"""

from collections.abc import Callable

from django.contrib.auth.decorators import login_not_required
from django.db import transaction
from django.http import HttpRequest, JsonResponse
from django.http.response import HttpResponseBase
from django.views.decorators.cache import never_cache

from workers.exceptions import RETRY_SECONDS
from workers.operate import readiness


@login_not_required
@transaction.non_atomic_requests
@never_cache
def live(request: HttpRequest) -> JsonResponse:
    return JsonResponse({"live": True})


@login_not_required
@transaction.non_atomic_requests
@never_cache
def ready(request: HttpRequest) -> JsonResponse:
    if problem := readiness.problem():
        return JsonResponse(
            {"ready": False, "database": problem},
            status=503,
            headers={"Retry-After": str(RETRY_SECONDS)},
        )
    return JsonResponse({"ready": True})


class Probes:
    """Middleware that answers `/livez` and `/readyz`, whatever the host name.

    It stands before middleware that checks that name or redirects to HTTPS.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response
        self._answers = {"/livez": live, "/readyz": ready}

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        answer = self._answers.get(request.path_info)
        return self._get_response(request) if answer is None else answer(request)
