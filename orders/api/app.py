"""The API: routers, error handlers and its description."""

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
        """Return the URL patterns; unknown paths and methods get problem documents, too."""
        patterns, app_name, namespace = super().urls
        for pattern in patterns:
            assert isinstance(pattern, URLPattern)
            view = pattern.callback
            if pattern.name == "openapi-json":
                # The framework accepts any method here.
                view = require_safe(view)
            pattern.callback = problems.with_problems(view)
        page = require_safe(problem_types.page)
        return (
            [
                *patterns,
                path("problems/<slug:code>", problems.with_problems(page), name="problem"),
                re_path("", problems.with_problems(problems.unknown_address)),
            ],
            app_name,
            namespace,
        )

    def get_openapi_schema(self, *args: Any, **kwargs: Any) -> OpenAPISchema:
        """Return the description, completed where the framework leaves something out."""
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
    # The description is public; the page that shows it is for staff.
    docs_url=None,
    parser=StrictParser(),
    openapi_extra={"openapi": "3.1.0"},
)
api.add_router("", orders.router)
api.add_router("", callbacks.router)
api.add_router("", webhooks.router)
problems.install(api)


# The page's style sheet embeds its arrows as data images.
@csp_update({"img-src": "data:"})
@staff_member_required
def docs(request: HttpRequest) -> HttpResponse:
    """Show the API's description as an interactive page, from local assets."""
    return api.docs.render_page(request, api)
