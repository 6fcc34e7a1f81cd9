"""What every answer has, and has not, whichever door it comes from."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase

from workers.exceptions import RETRY_SECONDS


class NoBodyToHead:
    """Answers HEAD without a body: gunicorn drops it, and logs a warning of each."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self._get_response(request)
        if request.method == "HEAD":
            if isinstance(response, StreamingHttpResponse):
                response.streaming_content = []
            elif isinstance(response, HttpResponse):
                response.content = b""
        return response


class RetryAfter:
    """Says with every 503 when to come again, unless the answer says so itself."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self._get_response(request)
        if response.status_code == 503:
            response.headers.setdefault("Retry-After", str(RETRY_SECONDS))
        return response
