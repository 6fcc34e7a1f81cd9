"""Submissions that could not be accepted."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from orders.models.order import Order


class DeadLetter(models.Model):
    """A message of the submission queue that could not become an order, with the reasons.

    Open until an operator replays or discards it.
    """

    class State(models.TextChoices):
        OPEN = "open", _("Open")
        REPLAYED = "replayed", _("Replayed")
        DISCARDED = "discarded", _("Discarded")

    state = models.CharField(max_length=10, choices=State.choices, default=State.OPEN)
    received_at = models.DateTimeField()
    #: The AMQP property; empty if the message had none.
    message_id = models.CharField(max_length=200, blank=True)
    #: The claimed sender; see ``is_proven``.
    client = models.CharField(max_length=100, blank=True)
    #: The proven sender; empty if there is none. The number of open letters is bounded for each.
    sender = models.CharField(max_length=100, blank=True, db_default="")
    #: Properties and headers, without the token.
    properties = models.JSONField(default=dict)
    body = models.BinaryField()
    #: [{"field", "problem"}, ...]
    reasons = models.JSONField(default=list)
    #: The reasons without the message's own values: equal within a group.
    cause = models.CharField(max_length=200, blank=True, db_default="")
    #: The body that was replayed instead of the original; null = the original.
    corrected = models.BinaryField(null=True)
    resolved_at = models.DateTimeField(null=True)
    resolved_by = models.CharField(max_length=200, blank=True)
    comment = models.TextField(blank=True)
    #: The result of a replay.
    order = models.ForeignKey(Order, null=True, on_delete=models.SET_NULL, related_name="+")

    class Meta:
        ordering = ["-received_at"]
        permissions = [
            ("resolve_dead_letter", _("Can replay and discard dead letters")),
            ("correct_dead_letter", _("Can correct dead letters and replay them")),
        ]
        indexes = [
            models.Index(
                name="dead_letter_open_idx", fields=["id"], condition=models.Q(state="open")
            ),
            models.Index(
                name="dead_letter_sender_idx", fields=["sender"], condition=models.Q(state="open")
            ),
            # Covers all columns of a group, so that counting needs no rows.
            models.Index(
                name="dead_letter_group_idx",
                fields=["cause", "client", "sender", "received_at", "id"],
                condition=models.Q(state="open"),
            ),
        ]

    def __str__(self) -> str:
        return f"dead letter {self.pk} of {self.sender_label}"

    @property
    def is_proven(self) -> bool:
        """Say whether a token, or the broker, has proven that ``client`` sent it."""
        return bool(self.properties.get("sender") == "proven")

    @property
    def sender_label(self) -> str:
        """Return the sender for people; the mark comes first, because any name can be claimed."""
        if not self.client:
            return "nobody"
        return self.client if self.is_proven else f"unproven {self.client}"


class DroppedLetters(models.Model):
    """How many messages of a sender were not kept, because too many were open."""

    #: As in ``DeadLetter.sender``.
    sender = models.CharField(max_length=100, primary_key=True)
    count = models.PositiveBigIntegerField(default=0)
    bytes = models.PositiveBigIntegerField(default=0)
    first_at = models.DateTimeField()
    last_at = models.DateTimeField()

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.count} messages of {self.sender or 'nobody proven'}"
