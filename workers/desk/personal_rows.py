"""Personal data on the desk: notes, jobs, and Django's own log.  Saved views keep no search."""

from collections.abc import Callable, Iterable
from typing import Any

from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType

from workers.desk.models import BulkJob, Note
from workers.models import Alert, Process, Sink, UndoRequest
from workers.privacy.personal_rows import PersonalRows, register_personal_rows
from workers.rules.masks import STARS


class Notes(PersonalRows):
    """Notes on processes lose the person's values; those on incidents with the address go."""

    name = "notes"

    def of_process(self, process_id: int) -> list[dict[str, Any]]:
        return _facts(Note.objects.filter(process=process_id))

    def erase_of_process(self, process_id: int, hide: Callable[[str], str]) -> None:
        for note in Note.objects.filter(process=process_id):
            Note.objects.filter(pk=note.pk).update(text=hide(note.text))

    def of_person(self, email: str) -> list[dict[str, Any]]:
        return _facts(self._of_incidents(email))

    def erase_of_person(self, email: str) -> int:
        ids = [note.pk for note in self._of_incidents(email)]
        return Note.objects.filter(pk__in=ids).delete()[0]

    def _of_incidents(self, email: str) -> list[Note]:
        notes = Note.objects.filter(process=None, text__icontains=self.needle(email))
        return [note for note in notes if self.has_address(email, note.text)]


def _facts(notes: Iterable[Note]) -> list[dict[str, Any]]:
    return [{"at": note.at, "text": note.text} for note in notes]


class Jobs(PersonalRows):
    """Reasons of jobs, and searches that chose their processes, become ``***``."""

    name = "jobs"

    def of_person(self, email: str) -> list[dict[str, Any]]:
        return [{"at": job.created_at, "text": job.reason} for job in self._jobs(email)]

    def erase_of_person(self, email: str) -> int:
        jobs = self._jobs(email)
        for job in jobs:
            source = {
                # A query stays one.
                key: ("q=***" if key == "query" else STARS) if self.has_address(email, of) else of
                for key, of in job.source.items()
            }
            reason = STARS if self.has_address(email, job.reason) else job.reason
            BulkJob.objects.filter(pk=job.pk).update(reason=reason, source=source)
        return len(jobs)

    def _jobs(self, email: str) -> list[BulkJob]:
        jobs = BulkJob.objects.all().iterator()
        return [job for job in jobs if self.has_address(email, job.reason, job.source)]


#: Their entries in Django's log go with their process.
_OF_PROCESS = (Process, Alert, Sink, UndoRequest)


class AdminLog(PersonalRows):
    """Django's log of admin actions, which quotes the reasons as entered."""

    name = "admin log"

    def erase_of_process(self, process_id: int, hide: Callable[[str], str]) -> None:
        for model in _OF_PROCESS:
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

    def of_person(self, email: str) -> list[dict[str, Any]]:
        return [{"at": row.action_time, "text": row.change_message} for row in self._log(email)]

    def erase_of_person(self, email: str) -> int:
        ids = [entry.pk for entry in self._log(email)]
        return LogEntry.objects.filter(pk__in=ids).update(change_message=STARS, object_repr=STARS)

    def _log(self, email: str) -> list[LogEntry]:
        types = ContentType.objects.get_for_models(*_OF_PROCESS).values()
        entries = LogEntry.objects.exclude(content_type__in=types).iterator()
        return [
            entry
            for entry in entries
            if self.has_address(email, entry.change_message, entry.object_repr)
        ]


for _rows in (Notes(), Jobs(), AdminLog()):
    register_personal_rows(_rows)
