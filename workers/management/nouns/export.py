"""Print what is kept about one person."""

import argparse
from typing import Any

from workers.management.terminal import Teller, TerminalCommand, actor, mail_address
from workers.privacy import persons


class Command(TerminalCommand):
    help = (
        "Prints what is kept of the person with a mail address, as JSON, for them to have; the "
        "journal keeps that you did."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("email", metavar="EMAIL", type=mail_address)

    def handle(self, *, email: str, **_: Any) -> None:
        progress = Teller(self.stderr, "slices")
        self.stdout.write(persons.export(email, actor=actor(), progress=progress))
