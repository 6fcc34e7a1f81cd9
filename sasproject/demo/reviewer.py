"""The demo's operator for large orders: approves most, declines some."""

from orders.models import Order
from sasproject.demo.cohort import Cohort
from sasproject.demo.voice import Voice
from workers import Outcome
from workers.client import callbacks
from workers.exceptions import Refused
from workers.models import Step

ACTOR = "operator:demo"
#: Orders whose number is a multiple of this are declined.
DECLINES_EVERY = 3


class Reviewer:
    """Answers the reviews of one run's orders, the oldest first."""

    def __init__(self, cohort: Cohort, voice: Voice) -> None:
        self._cohort = cohort
        self._voice = voice
        self.accepted = self.declined = 0

    def waiting(self) -> list[int]:
        """Return the numbers of the orders that wait for a decision."""
        steps = Step.objects.filter(
            name="review", live__look_at__isnull=False, live__is_deferred=True
        )
        orders = self._cohort.orders().filter(process_id__in=steps.values("process_id"))
        return list(orders.order_by("number").values_list("number", flat=True))

    def decide_all(self) -> None:
        """Decide on every waiting order, by its number."""
        for number in self.waiting():
            self.decide(number, accept=number % DECLINES_EVERY != 0)

    def decide_oldest(self, *, accept: bool) -> bool:
        """Decide on the oldest waiting order.  False: none waits."""
        waiting = self.waiting()
        return bool(waiting) and self.decide(waiting[0], accept=accept)

    def decide(self, number: int, *, accept: bool) -> bool:
        """Accept or decline an order.  False: it was decided already."""
        order = Order.objects.get(number=number)
        if accept:
            outcome = callbacks.complete_step(
                order.process_id, "review", {"approved": True}, actor=ACTOR
            )
        else:
            fault = Refused("review_declined", "the demo's operator declined it")
            outcome = callbacks.fail_step(order.process_id, "review", fault, actor=ACTOR)
        if outcome != Outcome.ACCEPTED:
            return False
        self.accepted += accept
        self.declined += not accept
        word = "approved" if accept else "declined"
        self._voice.tell(f"review: order {number} of {order.total} {word}")
        return True
