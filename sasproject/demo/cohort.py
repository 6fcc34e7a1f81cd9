"""The orders of one run of the demo, in the state store."""

from django.db.models import Count, QuerySet

from orders.models import Order
from workers.models import Alert, Journal, Process, Step
from workers.states import OPEN_PROCESS_STATES, StepState

#: Journal events of orders that met a failure, a loss or an outage.
TROUBLES = ("failed", "expired", "parked", "lost", "handed_back", "fell_back", "stale_reply")


class Cohort:
    """The orders with one reference."""

    def __init__(self, reference: str) -> None:
        self._orders = Order.objects.filter(reference=reference)

    def orders(self) -> QuerySet[Order]:
        return self._orders

    def states(self) -> dict[int, str]:
        """Return the state of every order by its number."""
        return dict(self._orders.values_list("number", "process__state"))

    def counts(self) -> dict[str, int]:
        """Return the number of orders by state."""
        rows = self._orders.values_list("process__state").annotate(n=Count("number"))
        return {str(state): int(number) for state, number in rows}

    def alerted(self) -> set[int]:
        """Return the orders with an alert."""
        return self._numbers(Alert.objects.filter(process__in=self._processes()))

    def troubled(self) -> set[int]:
        """Return the orders that met a failure, a loss or an outage."""
        rows = Journal.objects.filter(event__in=TROUBLES, process__in=self._processes())
        return self._numbers(rows)

    def moving(self) -> set[int]:
        """Return the orders that will continue without an operator."""
        open_orders = self._orders.filter(process__state__in=OPEN_PROCESS_STATES)
        processing = Step.objects.filter(
            live__state=StepState.PROCESSING, process__in=self._processes()
        )
        return set(open_orders.values_list("number", flat=True)) | self._numbers(processing)

    def failing(self) -> int:
        """Count the orders that retry a failed step."""
        steps = Step.objects.filter(
            live__state__in=(StepState.PENDING, StepState.PROCESSING),
            fault__isnull=False,
            process__in=self._processes().filter(state__in=OPEN_PROCESS_STATES),
        )
        return int(steps.values("process_id").distinct().count())

    def is_calling(self, agent: str) -> bool:
        """Say whether this agent is working for one of the orders now."""
        processing = Step.objects.filter(
            live__state=StepState.PROCESSING, process__in=self._processes()
        )
        return processing.filter(agent=agent, started_at__isnull=False).exists()

    def _processes(self) -> QuerySet[Process]:
        return Process.objects.filter(pk__in=self._orders.values("process_id"))

    def _numbers(self, rows: QuerySet[Alert] | QuerySet[Journal] | QuerySet[Step]) -> set[int]:
        owners = rows.values_list("process_id", flat=True)
        return set(self._orders.filter(process_id__in=owners).values_list("number", flat=True))
