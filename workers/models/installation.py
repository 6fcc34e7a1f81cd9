"""The installation that this database belongs to."""

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
