"""Webhooks that were received."""

from django.db import models


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
