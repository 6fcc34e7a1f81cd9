"""`/metrics` of a web process."""

import hmac
import re
from collections.abc import Callable
from ipaddress import ip_address

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.views.decorators.cache import never_cache
from prometheus_client import CONTENT_TYPE_LATEST

from workers.conf import sas
from workers.exceptions import AWAY, RETRY_SECONDS
from workers.ops.metrics import registry

PATH = "/metrics"
_PORT = re.compile(r":\d+$")
#: Headers that a proxy adds: the address is the proxy's then, and says nothing of the caller.
_FORWARDED = ("HTTP_FORWARDED", "HTTP_X_FORWARDED_FOR", "HTTP_X_REAL_IP")


@login_not_required
@transaction.non_atomic_requests
@never_cache
def metrics(request: HttpRequest) -> HttpResponse:
    """Return all figures to callers with the token, or on this machine."""
    if not _may_read(request):
        refusal = HttpResponse("Show SAS_METRICS_TOKEN as a bearer token.\n", status=401)
        refusal["WWW-Authenticate"] = "Bearer"
        return refusal
    try:
        return HttpResponse(registry.exposition(), content_type=CONTENT_TYPE_LATEST)
    except AWAY:
        return HttpResponse(
            "The database is away.\n", status=503, headers={"Retry-After": str(RETRY_SECONDS)}
        )


class Metrics:
    """Middleware that answers `/metrics`, whatever the host name and over plain HTTP.

    It stands before middleware that checks that name or redirects to HTTPS.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return metrics(request) if request.path_info == PATH else self._get_response(request)


def _may_read(request: HttpRequest) -> bool:
    if token := sas.metrics_token:
        header = request.META.get("HTTP_AUTHORIZATION", "").encode(errors="replace")
        return hmac.compare_digest(header, f"Bearer {token}".encode())
    # A proxy that forwards bytes adds no header; a project says by these that it stands behind one.
    is_behind_proxy = settings.SECURE_PROXY_SSL_HEADER or settings.USE_X_FORWARDED_HOST
    if is_behind_proxy or any(name in request.META for name in _FORWARDED):
        return False
    # A forwarder without headers, such as stunnel or ssh -L, brings the name that its caller used.
    asked = _PORT.sub("", request.META.get("HTTP_HOST", "")).strip("[]")
    return _is_local(request.META.get("REMOTE_ADDR", "")) and _is_local(asked)


def _is_local(name: str) -> bool:
    try:
        return name == "localhost" or ip_address(name).is_loopback
    except ValueError:
        return False
