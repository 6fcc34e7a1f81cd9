"""Rate-limit counters, shared by all processes."""

from django.db import models


class RateCount(models.Model):
    """The count of one limit and subject in a period; the next period starts it again.

    The key is a digest, which does not reveal the subject.
    """

    key = models.CharField(max_length=64, primary_key=True)
    period = models.BigIntegerField()
    count = models.PositiveIntegerField()
    ends_at = models.DateTimeField(db_index=True)

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.count} until {self.ends_at:%Y-%m-%d %H:%M:%S}"
