"""Django's own history page of a row, masked: its log keeps reasons as they were written."""

from typing import Any

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from workers.desk.admin import masking
from workers.desk.admin.masking import Mask
from workers.models import Process


class MaskedHistoryAdmin(admin.ModelAdmin):
    """Masks the page in memory, with the mask of the row."""

    def history_mask(self, row: Any) -> Mask:
        """Return the mask of texts about a row: its process's mask, if it has one."""
        process_id = row.pk if isinstance(row, Process) else getattr(row, "process_id", None)
        return masking.of_processes([process_id])[process_id]

    def history_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        response = super().history_view(request, object_id, extra_context)
        if isinstance(response, TemplateResponse) and response.context_data:
            row: Model = response.context_data["object"]
            mask = self.history_mask(row)
            for entry in response.context_data["action_list"]:
                entry.change_message = mask.text(entry.get_change_message())
        return response
