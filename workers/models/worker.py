"""Live workers, and the number of calls they have room for."""

from django.db import models


class Worker(models.Model):
    """One run of a Celery worker, as its parent process last reported it.

    A worker that ends properly deletes its row.  One not seen for ``SEEN_SECONDS`` has no room.
    """

    run = models.CharField(max_length=20, primary_key=True)
    name = models.CharField(max_length=200)
    #: Names of the queues that it serves.
    queues = models.JSONField(default=list)
    #: Child processes, or threads of another pool.
    processes = models.PositiveIntegerField()
    seen_at = models.DateTimeField()
    #: Identifies the definitions in its code; empty = not reported.
    code = models.CharField(max_length=16, blank=True, default="", db_default="")
    #: The definitions in its code (``definitions.known``).
    known = models.JSONField(null=True)

    def __str__(self) -> str:
        return self.name
