"""Takes orders from the submission queue."""

import signal
from typing import Any

from django.core.management import CommandError

from orders.consumer.answers import Answers
from orders.consumer.inbox import QUEUE, Inbox
from orders.consumer.loop import Consumer, LoginRefused
from workers import alive, logs
from workers.checks import tables
from workers.management.terminal import TerminalCommand

ENDINGS = (signal.SIGTERM, signal.SIGINT)


class Command(TerminalCommand):
    help = (
        f"Takes orders from the queue {QUEUE} until SIGTERM or Ctrl-C. What is no order becomes a "
        "dead letter; a broker or database that is away is waited for."
    )

    def handle(self, **options: Any) -> None:
        if problem := tables.problem():
            raise CommandError(problem)
        alive.keep("consumer", logs.is_stuck)
        consumer = Consumer(Inbox(), Answers(), on_open=self._say)
        handlers = {ending: signal.signal(ending, lambda *_: consumer.stop()) for ending in ENDINGS}
        try:
            consumer.run()
        except LoginRefused as refused:
            raise CommandError(str(refused)) from refused
        finally:
            for ending, handler in handlers.items():
                signal.signal(ending, handler)

    def _say(self) -> None:
        self.stdout.write(f"consuming {QUEUE}")
        self.stdout.flush()
