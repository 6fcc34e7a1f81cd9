"""The page of one row that shows more than its fields, its live part, and its personal data."""

from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from workers.desk.admin import lists, showing
from workers.desk.admin.actions.page import actor
from workers.desk.admin.changes import Marker
from workers.desk.admin.lists import AskableListAdmin, View
from workers.models import Process


class RowPageAdmin(AskableListAdmin):
    """Renders a row's page with a template of its own, and with ``row_context``.

    With a ``live_template`` polls at ``…/live/`` are answered with the live part of the page.
    """

    live_template = ""

    def views(self) -> list[View]:
        live: list[View] = [("live", "<int:pk>/live/", self.live_view)]
        return [*(live if self.live_template else []), *super().views()]

    def row_at(self, request: HttpRequest, pk: int) -> Any:
        """Return a row that the user may see; raise ``PermissionDenied`` or ``Http404``."""
        row = self.get_object(request, str(pk))
        if not self.has_view_permission(request, row):
            raise PermissionDenied
        if row is None:
            raise Http404
        return row

    def row_context(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        """Return what the page shows; called only if the row may be seen."""
        raise NotImplementedError

    def live_context(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        """Return what the live part shows."""
        raise NotImplementedError

    def live_marker(self, row: Any) -> Marker:
        """Return a marker that tells cheaply whether the live part has changed."""
        raise NotImplementedError

    def live_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        row = self.row_at(request, pk)
        return lists.live_part(
            request,
            self.live_marker(row),
            self.live_template,
            lambda: {**self.admin_site.each_context(request), **self.live_context(request, row)},
        )

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        # Django has read the row by then, and has checked that the user may see it.
        row = kwargs.get("obj")
        if row is not None:
            context |= {"subtitle": None, **self.row_context(request, row)}
        return super().render_change_form(request, context, *args, **kwargs)


class MaskedPageAdmin(RowPageAdmin):
    """A page that masks personal data until a user with the right asks for them."""

    def views(self) -> list[View]:
        return [
            ("show", "<int:pk>/show/", require_POST(self.show_view)),
            ("hide", "<int:pk>/hide/", require_POST(self.hide_view)),
            *super().views(),
        ]

    def masked_row(self, row: Any) -> Any:
        """Return the row whose personal data are shown: this one, or its process."""
        return row

    def showing_context(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        """Return whether personal data are shown, and the button that changes that."""
        is_shown = showing.is_shown(request, self.masked_row(row))
        url = self.url_of("hide" if is_shown else "show", row.pk)
        return {
            "is_shown": is_shown,
            "showing_url": url if showing.may(request) else "",
            "showing_label": showing.HIDE if is_shown else showing.SHOW,
        }

    def show_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Show the page's personal data for a while, and journal that; see ``showing``."""
        row = self.masked_row(self.row_at(request, pk))
        process_id = row.pk if isinstance(row, Process) else None
        showing.show(request, row, actor(request), process_id)
        return redirect(self.url_of("change", pk))

    def hide_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        showing.hide(request, self.masked_row(self.row_at(request, pk)))
        return redirect(self.url_of("change", pk))
