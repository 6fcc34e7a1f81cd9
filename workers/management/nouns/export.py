"""Prints what is kept of one person."""

import argparse
import json
from typing import Any

from workers.management.terminal import Teller, TerminalCommand, actor, mail_address
from workers.operate import persons


class Command(TerminalCommand):
    help = (
        "Prints what is kept of the person with a mail address, as JSON, for them to have; the "
        "journal keeps that you did."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("email", metavar="EMAIL", type=mail_address)

    def handle(self, *, email: str, **_: Any) -> None:
        found = persons.export(email, actor=actor(), progress=Teller(self.stderr, "slices"))
        # A line in all: in texts of others a line break may forge one.
        self.stdout.write(json.dumps(found, default=str, ensure_ascii=False))
