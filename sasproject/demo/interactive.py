"""The demo with a person: orders keep arriving, keys break things, q ends it."""

import sys
import time
from collections.abc import Callable
from contextlib import ExitStack

import httpx2
from django.db import DatabaseError, InterfaceError, connection
from rich.console import Console

from sasproject.demo import addresses, scene
from sasproject.demo.board import EVENT_ROWS, Screen
from sasproject.demo.chaos import WITHOUT_BROKER
from sasproject.demo.keys import Keys
from sasproject.demo.progress import Progress
from sasproject.demo.run import Run

PER_SECOND = 1.5
REFRESH_SECONDS = 0.5
#: How long the open orders get at the end, including those being undone; a second q cuts it
#: short.  The faults are switched off after ``FAULTY_SECONDS`` of it.
LAST_SECONDS = 120.0
FAULTY_SECONDS = 8.0
HELP = " k kill worker  p payment down/up  b kill broker  a/d approve/decline  q end "
NEVER = float("inf")


def play(run: Run) -> None:
    """Place orders until the demo is ended, then wait a while for the open orders."""
    with ExitStack() as stack:
        keys = stack.enter_context(Keys())
        console = Console()
        has_board = sys.stdout.isatty() and not console.is_dumb_terminal
        show = _board(run, stack, console) if has_board else _lines(run, keys)
        course = Course(run, keys, show)
        run.faults.switch_on()
        run.generator.start()
        run.until(course.is_over, NEVER, course.go_on)
        course.end()


class Course:
    """Handles keys and refreshes the picture until the demo ends."""

    def __init__(self, run: Run, keys: Keys, show: Callable[[bool], None]) -> None:
        self._run = run
        self._keys = keys
        self._show = show
        self._due = 0.0
        self._quits = 0
        self._is_ending = False

    def is_over(self) -> bool:
        return self._end_requests > 0

    @property
    def _end_requests(self) -> int:
        return self._quits + self._run.ending.interrupts

    def go_on(self) -> None:
        keys = self._keys.read()
        for key in keys:
            self._handle(key)
        if keys or time.monotonic() >= self._due:
            self._due = time.monotonic() + REFRESH_SECONDS
            self._show(self._is_ending)

    def end(self) -> None:
        """Let the open orders end; a second q or Ctrl-C cuts it short."""
        self._is_ending = True
        requests = self._end_requests
        run = self._run
        run.generator.stop()
        if run.faults.is_payment_down:
            self._try(run.faults.bring_payment_up, "payment is up again, for the open orders")

        def is_enough() -> bool:
            # The person decides on no more orders.
            run.review()
            return self._end_requests > requests or run.is_settled()

        if not run.until(is_enough, FAULTY_SECONDS, self.go_on):
            self._try(run.faults.clear, "faults off for the last orders")
            run.until(is_enough, LAST_SECONDS - FAULTY_SECONDS, self.go_on)

    def _handle(self, key: str) -> None:
        run = self._run
        match key:
            case "k":
                role = run.chaos.kill_a_worker()
                run.voice.tell(f"kill -9 {role}" if role else "that worker is down already")
            case "b":
                self._kill_broker()
            case "p" if run.faults.is_payment_down:
                self._try(run.faults.bring_payment_up, "payment is up again")
            case "p":
                self._try(run.faults.take_payment_down, "payment is down")
            case "a" | "d":
                self._review(accept=key == "a")
            case "q":
                self._quits += 1

    def _review(self, *, accept: bool) -> None:
        try:
            if not self._run.reviewer.decide_oldest(accept=accept):
                self._run.voice.tell("no order waits for a decision")
        except (DatabaseError, InterfaceError):
            connection.close()
            self._run.voice.tell("the database does not answer: press it again")

    def _kill_broker(self) -> None:
        run = self._run
        if "broker" not in run.chaos.roles():
            run.voice.tell("the broker is not the demo's own: it stays")
        elif run.chaos.kill("broker"):
            run.voice.tell(f"kill -9 broker: {WITHOUT_BROKER}")
        else:
            run.voice.tell("the broker is down already")

    def _try(self, switch: Callable[[], None], done: str) -> None:
        try:
            switch()
        except httpx2.HTTPError as error:
            self._run.voice.tell(f"the services did not take it: {error}")
        else:
            self._run.voice.tell(done)


def _board(run: Run, stack: ExitStack, console: Console) -> Callable[[bool], None]:
    screen = stack.enter_context(Screen(console, addresses.of(run.stack), HELP))
    run.voice.is_covered = True
    stack.callback(setattr, run.voice, "is_covered", False)

    def show(is_ending: bool) -> None:
        figures = run.look()
        try:
            picture = scene.read(
                run, figures, rows=screen.order_rows, events=EVENT_ROWS, is_ending=is_ending
            )
        except (DatabaseError, InterfaceError):
            connection.close()  # keep the last picture until the database is back
        else:
            screen.show(picture)

    return show


def _lines(run: Run, keys: Keys) -> Callable[[bool], None]:
    progress = Progress(run.voice, run.began)
    progress.begin(addresses.of(run.stack))
    if keys.are_there:
        run.voice.tell(HELP.strip())

    def show(is_ending: bool) -> None:
        if progress.is_due():
            progress.show(run.look())

    return show
