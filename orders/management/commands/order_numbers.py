"""Moves the next order number up, after a restore past every number given out before."""

import argparse
from typing import Any

from django.core.management.base import CommandError

from orders.numbers import skip_to
from workers import durable, record_act
from workers.management.terminal import TerminalCommand, actor


class Command(TerminalCommand):
    help = (
        "Has the next order take this number or a later one. For a database that was restored to "
        "an earlier time: numbers given out since then must not be given out again."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--next", dest="number", type=int, required=True, metavar="NUMBER")

    def handle(self, *, number: int, **options: Any) -> None:
        if number < 1:
            raise CommandError(f"--next is {number}. Order numbers begin at 1.")
        with durable("order_numbers.next"):
            if not skip_to(number):
                raise CommandError(f"Numbers up to {number} and beyond were given out already.")
            record_act("order_numbers_moved", {"next": number}, actor=actor())
        self.stdout.write(f"The next order is {number} or later.")
