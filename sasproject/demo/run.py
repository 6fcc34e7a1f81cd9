"""One run of the demo: a started stack, its orders, faults and kills, and the results."""

import time
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import httpx2
from django.db import DatabaseError, InterfaceError, connection

from orders import invariants as shop
from sasproject.demo import figures, script, tally
from sasproject.demo.chaos import Chaos
from sasproject.demo.cohort import Cohort
from sasproject.demo.ending import DemoStopped, Ending
from sasproject.demo.faults import Faults
from sasproject.demo.figures import Figures
from sasproject.demo.generator import Generator
from sasproject.demo.reviewer import Reviewer
from sasproject.demo.voice import Voice
from sasproject.stack.assembly import Stack
from sasproject.stack.exceptions import StackError
from workers.ops import invariants as engine

TICK_SECONDS = 0.1
LEDGER_SECONDS = 2.0

Ledgers = shop.Ledgers


class Run:
    """The part that both modes of the demo share."""

    def __init__(
        self,
        stack: Stack,
        run_dir: Path,
        *,
        seed: int,
        per_second: float,
        orders: int | None,
        ending: Ending,
        voice: Voice,
        began: float,
    ) -> None:
        self.stack = stack
        self.seed = seed
        self.ending = ending
        self.voice = voice
        self.began = began
        self.reference = f"demo-{uuid4().hex[:12]}"
        self.cohort = Cohort(self.reference)
        self.faults = Faults(stack.sandbox_url, seed)
        self.chaos = Chaos(stack.runner, run_dir)
        self.reviewer = Reviewer(self.cohort, voice)
        self.generator = Generator(
            script.purchases(seed),
            reference=self.reference,
            per_second=per_second,
            limit=orders,
        )
        self._figures = Figures()
        self._duplicates = 0
        self._ledgers_due = 0.0
        self._faults_before = tally.strike_counts(Ledgers.read(stack.sandbox_url))

    def tick(self, seconds: float) -> None:
        """Wait for some seconds; raise what must end the run."""
        if self.stack.runner.wait(seconds) and not self.ending.is_wanted:
            raise StackError("The stack ended by itself.")
        if self.ending.is_terminated:
            raise DemoStopped
        if self.generator.problem is not None:
            raise self.generator.problem

    def until(
        self,
        condition: Callable[[], bool],
        seconds: float,
        between: Callable[[], None],
        *,
        every: float = TICK_SECONDS,
    ) -> bool:
        """Wait until ``condition`` holds, calling ``between``; False if it does not in time."""
        limit = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > limit:
                return False
            between()
            self.tick(every)
        return True

    def look(self) -> Figures:
        """Return the current figures, or the last ones while database or sandbox do not answer."""
        try:
            if time.monotonic() >= self._ledgers_due:
                self._ledgers_due = time.monotonic() + LEDGER_SECONDS
                ledgers = Ledgers.read(self.stack.sandbox_url)
                self._duplicates = tally.duplicate_effects(ledgers, self.generator.accepted)
            self._figures = figures.read(
                self.cohort,
                self.generator.accepted,
                kills=self.chaos.kills,
                duplicates=self._duplicates,
            )
        except httpx2.HTTPError:
            pass
        except (DatabaseError, InterfaceError):
            connection.close()
        return self._figures

    def is_charging(self) -> bool:
        """Say whether a customer is being charged now."""
        return self._ask(lambda: self.cohort.is_calling("payment.charge"))

    def is_settled(self) -> bool:
        """Say whether no order will continue without an operator."""
        return self._ask(lambda: not self.cohort.moving())

    def review(self) -> None:
        """Decide on the large orders that wait for review."""
        try:
            self.reviewer.decide_all()
        except (DatabaseError, InterfaceError):
            connection.close()

    def tally(self) -> tally.Tally:
        """Count the results, as the last step while the sandbox still answers."""
        accepted = list(self.generator.accepted)
        # The store before the ledgers: an order that still moves may have an effect in between.
        moving = self.cohort.moving()
        states = self.cohort.states()
        ledgers = Ledgers.read(self.stack.sandbox_url)
        return tally.count(
            accepted,
            states,
            alerted=self.cohort.alerted(),
            troubled=self.cohort.troubled(),
            ledgers=ledgers,
            faults_before=self._faults_before,
            kills=self.chaos.kills,
            seconds=time.monotonic() - self.began,
            violations=[
                *engine.violations(),
                *shop.violations(ledgers, set(states) - moving),
            ],
        )

    def _ask(self, query: Callable[[], bool]) -> bool:
        """Query the database; False if it does not answer."""
        try:
            return query()
        except (DatabaseError, InterfaceError):
            connection.close()
            return False
