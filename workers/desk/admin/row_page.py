"""The page of one row that shows more than its fields."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest, HttpResponse


class RowPageAdmin(admin.ModelAdmin):
    """Renders a row's page with a template of its own, and with ``row_context``."""

    def row_context(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        """Return what the page shows; called only if the row may be seen."""
        raise NotImplementedError

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        # Django has read the row by then, and has checked that the user may see it.
        row = kwargs.get("obj")
        if row is not None:
            context |= {"subtitle": None, **self.row_context(request, row)}
        return super().render_change_form(request, context, *args, **kwargs)
