"""The API itself: what is wired to what."""

from typing import Any

from csp.decorators import csp_update
from django.contrib.admin.views.decorators import staff_member_required
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, URLResolver, path, re_path
from django.views.decorators.http import require_safe
from ninja import NinjaAPI
from ninja.openapi.schema import OpenAPISchema

from orders.api import callbacks, description, orders, problem_types, problems, webhooks
from orders.api.body import StrictParser
from orders.schemas import CallbackIn


class _API(NinjaAPI):
    @property
    def urls(self) -> tuple[list[URLResolver | URLPattern], str, str]:
        """Return the addresses; any other below them, and any other method, has an answer."""
        patterns, app_name, namespace = super().urls
        for pattern in patterns:
            assert isinstance(pattern, URLPattern)
            view = pattern.callback
            if pattern.name == "openapi-json":
                # The framework answers whatever the method is.
                view = require_safe(view)
            pattern.callback = problems.told(view)
        page = require_safe(problem_types.page)
        return (
            [
                *patterns,
                path("problems/<slug:code>", problems.told(page), name="problem"),
                re_path("", problems.told(problems.nowhere)),
            ],
            app_name,
            namespace,
        )

    def get_openapi_schema(self, *args: Any, **kwargs: Any) -> OpenAPISchema:
        """Return the description, with what the framework leaves out."""
        schema = description.complete(super().get_openapi_schema(*args, **kwargs))
        description.add_models(schema, [CallbackIn])
        return schema


api = _API(
    title="Orders",
    version="1",
    description=(
        "Place orders and follow them to their end. Every answer with a status of 400 or more is "
        "a problem document (RFC 9457) that says what to change."
    ),
    urls_namespace="api",
    # The description is open; the page that shows it is for staff.
    docs_url=None,
    parser=StrictParser(),
    openapi_extra={"openapi": "3.1.0"},
)
api.add_router("", orders.router)
api.add_router("", callbacks.router)
api.add_router("", webhooks.router)
problems.install(api)


# Its style sheet draws its arrows as images within itself.
@csp_update({"img-src": "data:"})
@staff_member_required
def docs(request: HttpRequest) -> HttpResponse:
    """Show the API's description as a page to try it on, from local assets."""
    return api.docs.render_page(request, api)
