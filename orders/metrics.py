"""Figures of the shop's own for Prometheus."""

from orders.models import DeadLetter
from workers.desk.metrics import register_gauge


def open_dead_letters() -> int:
    """Return how many messages of the submission queue wait for a person."""
    return DeadLetter.objects.filter(state=DeadLetter.State.OPEN).count()


register_gauge("sas_dead_letters_open", "Dead letters that wait for a person", open_dead_letters)
