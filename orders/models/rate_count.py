"""How often something was asked of late, counted for all processes together."""

from django.db import models


class RateCount(models.Model):
    """A count for one period of one limit; the next period begins it anew.

    The key is a digest: whom it counts cannot be read from it.
    """

    key = models.CharField(max_length=64, primary_key=True)
    period = models.BigIntegerField()
    count = models.PositiveIntegerField()
    ends_at = models.DateTimeField(db_index=True)

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.count} until {self.ends_at:%Y-%m-%d %H:%M:%S}"
