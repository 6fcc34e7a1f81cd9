"""Leases of periodic duties."""

from django.db import models


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
