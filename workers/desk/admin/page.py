"""The page of one process, and its live part: for the engine's admin and for an app's own."""

from collections.abc import Sequence
from typing import Any, ClassVar

from django.core.exceptions import PermissionDenied, ValidationError
from django.db.models import Exists, OuterRef, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from workers.desk.admin import changes, lists, masking, notes, panel, undo_request
from workers.desk.admin.actions import available
from workers.desk.admin.list_filter import row_id
from workers.desk.admin.lists import View
from workers.desk.admin.masking import UNMASKED
from workers.desk.admin.pictures import read as pictures
from workers.desk.admin.row_page import MaskedPageAdmin
from workers.desk.models import Note
from workers.models import Process, UndoRequest
from workers.states import UndoRequestState


class ProcessPageAdmin(MaskedPageAdmin):
    """A change page that shows a process; ``live_template`` is the part that is polled.

    The poll has a URL of its own below the page: ``…/live/``.
    """

    change_form_template = "admin/workers/process_page.html"
    #: The path from a row to its process: ``process__``, or nothing if rows are processes.
    process_path: str
    #: The page as links to verbs name it, for their way back; see ``actions.places``.
    origin: ClassVar[str] = ""
    #: Verbs that the page handles itself.
    own_verbs: ClassVar[frozenset[str]] = frozenset()

    def views(self) -> list[View]:
        return [("note", "<int:pk>/note/", require_POST(self.note_view)), *super().views()]

    def process_of(self, row: Any) -> Process:
        """Return the process of a row, fetched ``snapshot.with_steps``."""
        raise NotImplementedError

    def process_id_at(self, pk: int) -> int | None:
        """Return the id of the process of the row with this key; None if there is none."""
        raise NotImplementedError

    def facts_of_row(self) -> dict[str, Exists]:
        """Return annotations read with the row of a page, which save most pages a query."""
        return {}

    def beside(self, process_id: int) -> Sequence[QuerySet[Any]]:
        """Return queries of one value each for what else the live part shows; see ``changes``."""
        return ()

    def get_object(
        self, request: HttpRequest, object_id: str, from_field: str | None = None
    ) -> Any:
        """Return a row with all of its process; None if there is none."""
        if not lists.is_askable(object_id):
            return None
        # With the input, which lists leave out.
        rows = self.get_queryset(request).defer(None)
        note_rows = Note.objects.filter(process=OuterRef(f"{self.process_path}pk"))
        requests = UndoRequest.objects.filter(
            process=OuterRef(f"{self.process_path}pk"), state=UndoRequestState.WAITING
        )
        rows = rows.annotate(
            has_notes=Exists(note_rows.order_by()),
            has_undo_request=Exists(requests.order_by()),
            **self.facts_of_row(),
        )
        try:
            return rows.get(pk=object_id)
        except (rows.model.DoesNotExist, ValidationError, ValueError, OverflowError):
            return None

    def page_context(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        """Return what the live part shows, and the page around it."""
        before, index = row_id(request.GET.get("before", "")), row_id(request.GET.get("steps", ""))
        process = self.process_of(row)
        shown = self.showing_context(request, row)
        mask = UNMASKED if shown["is_shown"] else masking.of_process(process)
        process_panel = panel.of(process, mask, before, index)
        current = process_panel.standing.current
        return {
            "row": row,
            "panel": process_panel,
            "pictures": pictures.read(
                process, process_panel.now, mask, current.name if current else None
            ),
            "offers": available.of(
                request,
                process_panel.standing,
                [line.step.name for line in process_panel.steps],
                origin=self.origin,
                without=self.own_verbs,
            ),
            "undo_request": undo_request.of_process(process) if row.has_undo_request else None,
            "mask": mask,
            **shown,
            "live_template": self.live_template,
            "live_url": self.url_of("live", row.pk) + ("" if index is None else f"?steps={index}"),
            # A page of the past is not refreshed.
            "is_live": before is None,
            "server_now": process_panel.server_now,
        }

    def row_context(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        """Return what the whole page shows: the live part, and what no poll renders again."""
        pk = self.process_of(row).pk
        # Read before the rest: the next poll sees what changes meanwhile.
        seen = changes.of_process(pk, beside=self.beside(pk)).text
        context = self.page_context(request, row)
        return context | {
            "seen": seen,
            "title": str(row),
            # Most processes have none: whether one has was read with the row.
            "notes": notes.of_process(pk, context["mask"]) if row.has_notes else [],
            "note_form": notes.NoteForm(),
            "note_url": self.url_of("note", row.pk) if notes.may(request) else "",
        }

    def live_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        if not self.has_view_permission(request):
            raise PermissionDenied
        process_id = self.process_id_at(pk)
        if process_id is None:
            raise Http404

        def context() -> dict[str, Any]:
            row = self.row_at(request, pk)
            return {**self.admin_site.each_context(request), **self.page_context(request, row)}

        marker = changes.of_process(process_id, beside=self.beside(process_id))
        return lists.live_part(request, marker, self.live_template, context)

    def note_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Write a note on the page's process."""
        row = self.row_at(request, pk)
        notes.write(request, self.process_of(row).pk)
        return redirect(f"{self.url_of('change', row.pk)}#notes-title")

    def masked_row(self, row: Any) -> Process:
        return self.process_of(row)
