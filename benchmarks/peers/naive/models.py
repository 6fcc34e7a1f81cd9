from django.db import models


class Order(models.Model):
    """An order with a status column, and nothing that says who is at it or since when."""

    number = models.IntegerField(unique=True)
    status = models.CharField(max_length=20, default="created", db_index=True)
    step = models.SmallIntegerField(default=0)
    updated_at = models.DateTimeField(auto_now=True)
    payload = models.JSONField(default=dict)

    class Meta:
        app_label = "naive"

    def __str__(self) -> str:
        return f"{self.number} is {self.status}"
