"""The page of one process, and its live part: for the engine's admin and for an app's own."""

from typing import Any, ClassVar

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import Model
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse

from workers.admin import lists, panel
from workers.admin.actions import available


class ProcessPageAdmin(admin.ModelAdmin):
    """A change page that shows a process; ``live_template`` is the part that is polled.

    The poll has an address of its own below the page: ``…/live/``.
    """

    change_form_template = "admin/workers/process_page.html"
    live_template: str
    #: Where the links to verbs stand, for their way back; see ``verbs.places``.
    origin: ClassVar[str] = ""
    #: Verbs that the page has its own way for.
    own_verbs: ClassVar[frozenset[str]] = frozenset()

    def get_urls(self) -> list[URLPattern]:
        name = f"{self.opts.app_label}_{self.opts.model_name}_live"
        live = path("<int:pk>/live/", self.admin_site.admin_view(self.live_view), name=name)
        return [live, *super().get_urls()]

    def process_id_of(self, row: Any) -> int:
        raise NotImplementedError

    def page_context(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        """Return what the live part shows."""
        before, place = _number(request, "before"), _number(request, "steps")
        shown = panel.read(self.process_id_of(row), before, place)
        return {
            "row": row,
            "panel": shown,
            "offers": available.of(
                request,
                shown.standing,
                [line.step.name for line in shown.steps],
                origin=self.origin,
                without=self.own_verbs,
            ),
            "live_template": self.live_template,
            "live_url": self._live_url(row) + ("" if place is None else f"?steps={place}"),
            # A look at the past stands still.
            "is_live": before is None,
            "server_now": shown.server_now,
        }

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        row = self.get_object(request, object_id)
        context = dict(extra_context or {})
        if row is not None and self.has_view_permission(request, row):
            context |= self.page_context(request, row)
            context |= {"title": str(row), "subtitle": None}
        return super().change_view(request, object_id, form_url, context)

    def live_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        row = self.get_object(request, str(pk))
        if not self.has_view_permission(request, row):
            raise PermissionDenied
        if row is None:
            raise Http404
        context = {**self.admin_site.each_context(request), **self.page_context(request, row)}
        response = TemplateResponse(request, self.live_template, context)
        lists.stamp(response)
        return response

    def _live_url(self, row: Model) -> str:
        name = f"admin:{self.opts.app_label}_{self.opts.model_name}_live"
        return reverse(name, args=[row.pk], current_app=self.admin_site.name)


def _number(request: HttpRequest, name: str) -> int | None:
    """Return what the address says of a journal row or a step's place, if it is sensible."""
    text = request.GET.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None
