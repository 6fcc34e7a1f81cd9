"""Which installation this database is of."""

from uuid import uuid4

from django.db import models


class Installation(models.Model):
    """The one row that ``migrate`` makes: its id is in every message, so that no other takes it.

    The rest says where the database was when it was last looked at (PostgreSQL): another server,
    another database or another timeline may lack commits that this one had.
    """

    id = models.UUIDField(primary_key=True, default=uuid4)
    made_at = models.DateTimeField()
    #: The server's identifier and the database's number there; empty: not looked at yet.
    place = models.CharField(max_length=60, blank=True, default="")
    timeline = models.BigIntegerField(null=True)
    #: A commit was confirmed by a standby before it counted: a promotion loses none.
    is_synchronous = models.BooleanField(default=False)
    looked_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return str(self.id)
