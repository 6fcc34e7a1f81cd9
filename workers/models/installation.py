"""The installation: its id, its live workers, the leases of its duties, webhooks it has taken."""

from uuid import uuid4

from django.db import models


class Installation(models.Model):
    """The one row, made by ``migrate``: its id is in every message, so that no other takes it.

    The other columns say where the database was at the last check (PostgreSQL): another server,
    database or timeline may lack commits that this one had.
    """

    id = models.UUIDField(primary_key=True, default=uuid4)
    made_at = models.DateTimeField()
    #: The server's identifier and the database's number there; empty: not checked yet.
    place = models.CharField(max_length=60, blank=True, default="")
    timeline = models.BigIntegerField(null=True)
    #: Commits waited for a standby's confirm: a promotion loses none.
    is_synchronous = models.BooleanField(default=False)
    looked_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return str(self.id)


class Lease(models.Model):
    """The present holder of a periodic duty, and when the duty was last performed."""

    name = models.CharField(max_length=50, primary_key=True)
    holder = models.CharField(max_length=200, null=True)  # noqa: DJ001 (null = free)
    expires_at = models.DateTimeField(null=True)
    performed_at = models.DateTimeField(null=True)
    #: Where the next round continues, for duties that go through a table in portions.
    cursor = models.BigIntegerField(default=0)
    #: Failures in a row since it was last performed, and the last exception.
    failures = models.PositiveIntegerField(default=0, db_default=0)
    error = models.TextField(blank=True, default="", db_default="")
    failed_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return self.name


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


class ReceivedWebhook(models.Model):
    """The id of a webhook that was taken, so that it is not taken twice."""

    provider = models.CharField(max_length=40)
    message_id = models.CharField(max_length=200)
    received_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(name="webhook_taken_once", fields=["provider", "message_id"])
        ]
        # For pruning the oldest.
        indexes = [models.Index(name="webhook_received_idx", fields=["received_at"])]

    def __str__(self) -> str:
        return f"{self.message_id} of {self.provider}"
