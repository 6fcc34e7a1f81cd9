"""Notes that operators leave for each other."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from workers.desk.models.incident import Incident
from workers.models.process import Process


class Note(models.Model):
    """A note on an incident or on a process."""

    incident = models.ForeignKey(
        Incident, null=True, on_delete=models.CASCADE, related_name="notes"
    )
    process = models.ForeignKey(Process, null=True, on_delete=models.CASCADE, related_name="notes")
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    text = models.TextField()
    at = models.DateTimeField()

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(
                name="note_on_one_thing",
                condition=Q(incident__isnull=False, process__isnull=True)
                | Q(incident__isnull=True, process__isnull=False),
            )
        ]
        indexes = [models.Index(name="note_at_idx", fields=["at"])]

    def __str__(self) -> str:
        return self.text
