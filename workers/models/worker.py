"""Which workers live, and how many calls there is room for in them."""

from django.db import models


class Worker(models.Model):
    """One run of a Celery worker, as its parent process last reported it.

    A worker that ends well deletes its row.  One that is not seen for ``SEEN_SECONDS`` has no room.
    """

    run = models.CharField(max_length=20, primary_key=True)
    name = models.CharField(max_length=200)
    #: Names of the queues that it serves.
    queues = models.JSONField(default=list)
    #: Child processes, or threads of another pool.
    processes = models.PositiveIntegerField()
    seen_at = models.DateTimeField()
    #: Names what its code knows: workers with the same definitions have the same; empty = unsaid.
    code = models.CharField(max_length=16, blank=True, default="", db_default="")
    #: The definitions that its code has (``definitions.known``).
    known = models.JSONField(null=True)

    def __str__(self) -> str:
        return self.name
