"""The receivers that are told about processes."""

from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from workers.models.process import Process


class Sink(models.Model):
    """One receiver that is told of one process: a private reply queue, or a webhook.

    ``cursor`` is the sequence number of the last journal row it was told of: the relay sends the
    later rows, in order, at least once.
    """

    process = models.ForeignKey(Process, on_delete=models.CASCADE, related_name="sinks")
    #: queue or webhook
    kind = models.CharField(max_length=10)
    address = models.CharField(max_length=500)
    #: Whose it is: determines the secret that signs webhooks.
    owner = models.CharField(max_length=100, blank=True)
    correlation_id = models.CharField(max_length=200, blank=True)
    cursor = models.PositiveIntegerField(default=0)
    #: Sequence number of the last row to tell, set with that row: a sink that was told everything
    #: is in no index, so that a poll costs the same however many there are.
    last = models.PositiveIntegerField(default=0)
    #: open, ended (told of everything), or undeliverable.
    state = models.CharField(max_length=20, default="open")
    #: Failed tries in a row.
    tries = models.PositiveIntegerField(default=0)
    #: No relay sends before this: the end of a backoff, or of another relay's claim.
    next_try_at = models.DateTimeField()
    #: Why the last try failed: a code of ``delivery_problems`` with its parameters.
    problem = models.JSONField(null=True)
    #: The same as text, written by an earlier version.
    last_error = models.CharField(max_length=300, blank=True)

    class Meta:
        permissions = [("redeliver_sink", _("Can have a submitter told again"))]
        constraints = [
            models.UniqueConstraint(name="sink_once", fields=["process", "kind", "address"]),
            models.CheckConstraint(
                name="sink_kind_known", condition=Q(kind__in=["queue", "webhook"])
            ),
            models.CheckConstraint(
                name="sink_state_known",
                condition=Q(state__in=["open", "ended", "undeliverable"]),
            ),
        ]
        indexes = [
            models.Index(
                name="sink_due_idx",
                fields=["next_try_at", "id"],
                condition=Q(state="open", last__gt=F("cursor")),
            )
        ]

    def __str__(self) -> str:
        # The query may contain a secret of the owner's.
        place = self.address.partition("?")[0]
        return f"{self.kind} {place} of process {self.process_id}"
