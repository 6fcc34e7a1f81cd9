"""The shop's own metrics for Prometheus."""

from orders.models import DeadLetter
from workers.ops.metrics import register_gauge


def open_dead_letters() -> int:
    """Return the number of open dead letters."""
    return DeadLetter.objects.filter(state=DeadLetter.State.OPEN).count()


register_gauge("sas_dead_letters_open", "Dead letters that wait for a person", open_dead_letters)
