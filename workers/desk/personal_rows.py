"""Personal data on the desk: notes, and Django's own log.  Saved views keep no search."""

from collections.abc import Callable
from typing import Any

from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db.models import QuerySet

from workers.definitions.personal_rows import PersonalRows, register_personal_rows
from workers.desk.models import Note
from workers.models import Alert, Process, Sink, UndoRequest


class Notes(PersonalRows):
    """Notes on processes lose the person's values; those on incidents with the address go."""

    name = "notes"

    def of_process(self, process_id: int) -> list[dict[str, Any]]:
        return _facts(Note.objects.filter(process=process_id))

    def erase_of_process(self, process_id: int, hide: Callable[[str], str]) -> None:
        for note in Note.objects.filter(process=process_id):
            Note.objects.filter(pk=note.pk).update(text=hide(note.text))

    def of_person(self, email: str) -> list[dict[str, Any]]:
        return _facts(_incident_notes(email))

    def erase_of_person(self, email: str) -> int:
        return _incident_notes(email).delete()[0]


def _facts(notes: QuerySet[Note]) -> list[dict[str, Any]]:
    return [{"at": note.at, "text": note.text} for note in notes]


def _incident_notes(email: str) -> QuerySet[Note]:
    return Note.objects.filter(process=None, text__icontains=email)


class AdminLog(PersonalRows):
    """Django's log of admin actions, which quotes the reasons as entered."""

    name = "admin log"

    def erase_of_process(self, process_id: int, hide: Callable[[str], str]) -> None:
        for model in (Process, Alert, Sink, UndoRequest):
            column = "pk" if model is Process else "process_id"
            keys = model._base_manager.filter(**{column: process_id}).values_list("pk", flat=True)
            entries = LogEntry.objects.filter(
                content_type=ContentType.objects.get_for_model(model),
                object_id__in=[str(key) for key in keys],
            )
            for entry in entries:
                LogEntry.objects.filter(pk=entry.pk).update(
                    object_repr=hide(entry.object_repr), change_message=hide(entry.change_message)
                )


for _rows in (Notes(), AdminLog()):
    register_personal_rows(_rows)
