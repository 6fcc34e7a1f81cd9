"""Lists whose rows each have a process: verbs as actions, with a page that asks first."""

from collections.abc import Callable
from typing import Any, ClassVar

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from workers.admin.bulk import apply, selection
from workers.admin.bulk.apply import SeenForm
from workers.admin.bulk.kinds import KINDS, BulkVerb
from workers.admin.bulk.selection import Selection
from workers.admin.lists import LiveMedia, back_to

Action = Callable[[admin.ModelAdmin, HttpRequest, QuerySet[Any]], HttpResponse | None]


class BulkListAdmin(admin.ModelAdmin):
    """A list with the bulk verbs that the user may use; ``…/pause/`` and so on carry them out."""

    #: Leads from a row to its process: ``process__``, or nothing.
    process_path: str
    #: Permissions of the app's own instead of a verb's, by its name.
    bulk_permissions: ClassVar[dict[str, str]] = {}

    def bulk_facts(self, rows: list[Any]) -> list[tuple[str, str]]:
        """Return what else is worth knowing of the rows that will change: (name, value)."""
        return []

    def get_urls(self) -> list[URLPattern]:
        named = f"{self.opts.app_label}_{self.opts.model_name}"
        wrap = self.admin_site.admin_view
        return [
            path(f"{bulk.name}/", wrap(self._view_of(bulk)), name=f"{named}_{bulk.name}_selected")
            for bulk in KINDS
        ] + super().get_urls()

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        actions: dict[str, Any] = super().get_actions(request)
        for bulk in KINDS:
            if self._may(request, bulk):
                name = f"{bulk.name}_selected"
                actions[name] = (_action_of(bulk), name, str(bulk.description))
        return actions

    def _may(self, request: HttpRequest, bulk: BulkVerb) -> bool:
        own = self.bulk_permissions.get(bulk.name)
        return bool(request.user.has_perm(own or f"workers.{bulk.verb.permission}"))

    def _view_of(self, bulk: BulkVerb) -> Callable[[HttpRequest], HttpResponse]:
        @require_POST
        def view(request: HttpRequest) -> HttpResponse:
            return self._carry_out(request, bulk)

        return view

    def _carry_out(self, request: HttpRequest, bulk: BulkVerb) -> HttpResponse:
        """Change the rows that were shown, each only if it has not moved since."""
        if not self._may(request, bulk):
            raise PermissionDenied
        form = SeenForm(request.POST)
        valid = form.is_valid()
        seen = form.cleaned_data.get("seen", {})
        # Rows of this list only: its permission is none for other processes.
        rows = self.get_queryset(request).filter(**{f"{self.process_path}pk__in": list(seen)})
        if not valid:
            found = selection.select(rows, self.process_path, bulk)
            return self.bulk_page(request, form, found)
        targets = selection.targets(rows, self.process_path)
        landed = apply.carry_out(bulk.verb, seen, targets, request, form.cleaned_data["reason"])
        apply.report(bulk.verb, landed, request)
        return back_to(request, self._list_name)

    @property
    def _list_name(self) -> str:
        return f"admin:{self.opts.app_label}_{self.opts.model_name}_changelist"

    def bulk_page(self, request: HttpRequest, form: SeenForm, found: Selection) -> HttpResponse:
        """Show what will change and what will not, and ask for the reason."""
        query = request.GET.urlencode()
        name = f"admin:{self.opts.app_label}_{self.opts.model_name}_{found.bulk.name}_selected"
        context = {
            **self.admin_site.each_context(request),
            "title": str(found.bulk.description)
            % {"verbose_name_plural": self.opts.verbose_name_plural},
            "form": form,
            "selection": found,
            "verb": found.bulk.verb,
            "facts": self.bulk_facts([row for row, _steps in found.rows]),
            "limit": selection.LIMIT,
            "query": f"?{query}" if query else "",
            "list_url": reverse(self._list_name),
            "change_name": f"admin:{self.opts.app_label}_{self.opts.model_name}_change",
            "post_url": reverse(name),
            "media": forms.Media(LiveMedia),
            "opts": self.opts,
        }
        status = 400 if form.is_bound else 200
        return TemplateResponse(request, "admin/workers/bulk.html", context, status=status)


def _action_of(bulk: BulkVerb) -> Action:
    def action(
        model_admin: Any, request: HttpRequest, queryset: QuerySet[Any]
    ) -> HttpResponse | None:
        found = selection.select(queryset, model_admin.process_path, bulk)
        if not found.rows:
            why = found.left_out[0][1] if found.left_out else ""
            said = _("%(verb)s: nothing of what was selected would change. %(why)s")
            messages.warning(request, said % {"verb": bulk.verb.label, "why": why})
            return None
        return model_admin.bulk_page(request, SeenForm(initial={"seen": found.seen}), found)  # type: ignore[no-any-return]

    return action
