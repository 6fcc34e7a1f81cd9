"""The submitter of the demo: places the script's orders at a steady pace and counts them.

Like a client it knows only which orders were accepted.  After a lost answer it retries with the
same submission key.
"""

import threading
import time
from collections.abc import Iterator

from django.db import InterfaceError, OperationalError, connection

from orders.models import Order
from orders.submission import SubmissionRefused, place_order
from sasproject.demo.script import Purchase

RETRY_SECONDS = 0.5
#: Refusals in a row after which the demo fails.
MOST_REFUSALS = 20


class Generator:
    """A thread that places orders until the limit is reached or it is stopped."""

    def __init__(
        self,
        purchases: Iterator[Purchase],
        *,
        reference: str,
        per_second: float,
        limit: int | None = None,
    ) -> None:
        self._purchases = purchases
        self._reference = reference
        self._pause = 1 / per_second
        self._limit = limit
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="generator", daemon=True)
        #: The numbers of the accepted orders; only ever appended to.
        self.accepted: list[int] = []
        self.problem: Exception | None = None

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Place no more orders; return once the last one is accepted or refused."""
        self._ended.set()
        if self._thread.ident is not None:
            self._thread.join()

    @property
    def is_finished(self) -> bool:
        return self._thread.ident is not None and not self._thread.is_alive()

    def _run(self) -> None:
        try:
            self._place_all()
        except Exception as error:  # noqa: BLE001 (the run raises it in its own thread)
            self.problem = error
        finally:
            connection.close()

    def _place_all(self) -> None:
        began = time.monotonic()
        refusals = 0
        for i, purchase in enumerate(self._purchases):
            if self._limit is not None and len(self.accepted) >= self._limit:
                return
            if self._ended.wait(max(0.0, began + i * self._pause - time.monotonic())):
                return
            try:
                number = self._place(f"{self._reference}-{i}", purchase)
            except SubmissionRefused:
                # An operator may unlist a product while the demo runs.
                refusals += 1
                if refusals == MOST_REFUSALS:
                    raise
                continue
            if number is None:
                return
            refusals = 0
            self.accepted.append(number)

    def _place(self, key: str, purchase: Purchase) -> int | None:
        """Return the accepted order's number; None if stopped before it is known."""
        while True:
            try:
                order, _ = place_order(
                    purchase.customer,
                    purchase.lines,
                    submission_key=key,
                    source=Order.Source.DEMO,
                    submitter="demo",
                    reference=self._reference,
                )
                return order.number
            except (OperationalError, InterfaceError):
                connection.close()
                if self._ended.wait(RETRY_SECONDS):
                    return None
