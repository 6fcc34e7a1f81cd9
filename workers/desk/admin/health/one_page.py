"""A page over all rows of a table, in place of a list of them."""

from datetime import datetime
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path

from workers.admin import ReadOnlyAdmin
from workers.desk.admin import changes, lists


class OnePageAdmin(ReadOnlyAdmin):
    """One page of figures, rendered anew when there are new ones; a poll gets its live part."""

    page_template: str
    live_template: str

    def page_context(self, request: HttpRequest, now: datetime) -> dict[str, Any]:
        """Return what the live part shows, and the page's title."""
        raise NotImplementedError

    def get_urls(self) -> list[URLPattern]:
        wrap = self.admin_site.admin_view
        name = f"{self.opts.app_label}_{self.opts.model_name}_changelist"
        return [path("", wrap(self.changelist_view), name=name)]

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        if not self.has_view_permission(request):
            raise PermissionDenied
        marker = changes.of_health()
        return lists.live_page(
            request,
            self,
            marker,
            (self.page_template, self.live_template),
            lambda: {**self.page_context(request, marker.at), **(extra_context or {})},
        )
