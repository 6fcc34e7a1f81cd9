"""The consumer's loop: fetch, handle and acknowledge, through every outage until it is stopped."""

import logging
import time
from collections.abc import Callable
from typing import Protocol

from django.db import close_old_connections, connection

from orders.consumer import handling
from orders.consumer.backoff import Backoff
from orders.consumer.handling import HandlingResult
from orders.consumer.inbox import QUEUE, Inbox
from orders.consumer.message import Message
from orders.reasons import because
from workers import around
from workers.celery import broker_login
from workers.exceptions import first_line

log = logging.getLogger(__name__)

#: Failures of an available database at one message, after which the message is to blame.
TRIES = 5
#: Every wait is interrupted this often to check whether to stop.
LONGEST_WAIT_SECONDS = 1.0


class LoginRefused(Exception):
    """The broker answers but refuses this login; the message says what to do."""


class Replies(Protocol):
    def tell(self, message: Message, result: HandlingResult) -> None: ...
    def close(self) -> None: ...


class Consumer:
    """Turns messages into orders, one at a time, until it is stopped."""

    def __init__(
        self, inbox: Inbox, answers: Replies, *, on_open: Callable[[], None] = lambda: None
    ) -> None:
        self._inbox = inbox
        self._answers = answers
        self._on_open = on_open
        self._is_stopping = False
        self._was_let_in = False
        self._broker = Backoff()
        self._database = Backoff()
        self._resume_at = 0.0
        self._failures = 0

    def stop(self) -> None:
        """Stop after the current message; safe to call from a signal handler."""
        self._is_stopping = True

    def run(self) -> None:
        """Consume until stopped, waiting for a lost broker or database as long as necessary.

        Raises ``LoginRefused`` if the broker refuses a login that it has never accepted.
        """
        while not self._is_stopping:
            try:
                self._inbox.open()
                self._was_let_in = True
                self._on_open()
                log.info("consuming", extra={"queue": QUEUE})
                self._serve()
            except Exception as error:
                refusal = None if self._was_let_in else broker_login.refusal(error)
                if refusal:
                    raise LoginRefused(refusal) from error
                # Any error: submissions must go on.
                self._back_off(error)
            finally:
                self._inbox.close()
        self._answers.close()
        log.info("stopped", extra={"queue": QUEUE})

    def _back_off(self, error: Exception) -> None:
        seconds = self._broker.next()
        is_expected = self._inbox.is_broker_error(error)
        log.warning(
            "broker_lost",
            extra={"reason": f"{type(error).__name__}: {first_line(error)}", "again_in": seconds},
            exc_info=None if is_expected else error,
        )
        self._inbox.close()
        end = time.monotonic() + seconds
        while not self._is_stopping and (left := end - time.monotonic()) > 0:
            time.sleep(min(left, LONGEST_WAIT_SECONDS))

    def _serve(self) -> None:
        self._failures = 0
        while not self._is_stopping:
            pause = self._resume_at - time.monotonic()
            if self._inbox.waiting and pause <= 0:
                # Messages of other senders may have arrived, and have their turns.
                self._inbox.fetch()
                self._take(self._inbox.waiting[0])
                continue
            # Keeps the broker's connection alive while the database is away.
            limit = min(pause, LONGEST_WAIT_SECONDS) if pause > 0 else LONGEST_WAIT_SECONDS
            self._inbox.wait(limit)
            if not self._inbox.waiting:
                self._broker.reset()

    def _take(self, message: Message) -> None:
        try:
            close_old_connections()
            result = self._handle(message)
        except handling.DATABASE_AWAY as error:
            self._wait_for_database(error)
            return
        self._failures = 0
        self._database.reset()
        self._answers.tell(message, result)
        with around("loop.ack"):
            self._inbox.ack(message)
        self._inbox.waiting.popleft()
        if result.sender.client is not None:
            self._inbox.waiting.learn(message, result.sender.client.name)
        self._broker.reset()

    def _handle(self, message: Message) -> HandlingResult:
        if self._failures < TRIES:
            return handling.handle(message)
        reason = because("message", f"the database failed at it {self._failures} times")
        return handling.give_up(message, [reason])

    def _wait_for_database(self, error: Exception) -> None:
        """Leave the message unacknowledged for a while: the broker keeps it."""
        # A time limit or a lost server leaves the connection unusable.
        connection.close()
        if handling.is_database_there():
            self._failures += 1
        else:
            connection.close()
        seconds = self._database.next()
        self._resume_at = time.monotonic() + seconds
        log.warning(
            "database_away",
            extra={"reason": f"{type(error).__name__}: {first_line(error)}", "again_in": seconds},
        )
