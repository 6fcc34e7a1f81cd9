"""Notes on a process: shown below its page, masked like the rest of it, and written there."""

from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from workers.desk.admin.actions.page import actor
from workers.desk.admin.masking import Mask
from workers.desk.models import Note
from workers.desk.store import notes
from workers.desk.store.notes import LONGEST_NOTE

PERMISSION = "workers.note_process"
#: Newest notes on a page.
SHOWN = 50


class NoteForm(forms.Form):
    text = forms.CharField(
        label=lazy("Note"), max_length=LONGEST_NOTE, widget=forms.Textarea(attrs={"rows": 3})
    )


def may(request: HttpRequest) -> bool:
    return bool(request.user.has_perm(PERMISSION))


def of_process(process_id: int, mask: Mask) -> list[Note]:
    """Return the newest notes on a process, masked in memory: never to be saved."""
    rows = list(Note.objects.filter(process=process_id).select_related("author")[:SHOWN])
    for row in rows:
        row.text = mask.text(row.text)
    return rows


def write(request: HttpRequest, process_id: int) -> None:
    """Write the note of a form, and tell the user the result."""
    if not may(request) or request.user.pk is None:
        raise PermissionDenied
    form: Any = NoteForm(request.POST)
    if not form.is_valid():
        messages.error(request, " ".join(map(str, form.errors["text"])))
    elif notes.write_on_process(
        process_id, int(request.user.pk), form.cleaned_data["text"], actor=actor(request)
    ):
        messages.success(request, _("Noted."))
