"""Erase what is kept about one person."""

import argparse
from typing import Any

from django.core.management.base import CommandError

from workers.exceptions import StateError
from workers.management.terminal import Teller, TerminalCommand, actor, mail_address
from workers.management.wording import counted
from workers.privacy import persons


class Command(TerminalCommand):
    help = (
        "Erases what is kept of the person with a mail address: names, mail and postal address in "
        "inputs, results, journals, notes and the rows of applications; `***` is left. Processes "
        "that have not ended are kept and named, with exit 1: run it again once they have. "
        "Backups and the services that were called keep their own."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("email", metavar="EMAIL", type=mail_address)
        parser.add_argument("--dry-run", action="store_true", help="only say what would be erased")
        parser.add_argument("--reason", default="", help="kept in the journal; needed to erase")

    def handle(self, *, email: str, dry_run: bool, reason: str, **_: Any) -> None:
        reason = reason.strip()
        if not (reason or dry_run):
            raise CommandError("Say why, with --reason: it is kept in the journal.")
        progress = Teller(self.stderr, "slices")
        try:
            outcome = persons.erase(
                email, actor=actor(), reason=reason, dry_run=dry_run, progress=progress
            )
        except StateError as refusal:
            raise CommandError(str(refusal)) from None
        verb = "would be erased" if dry_run else "erased"
        for subject in outcome.erased:
            self.stdout.write(f"{subject}: {verb}")
        for name, count in outcome.beside.items():
            self.stdout.write(f"{name}: {count} {verb}")
        if outcome.kept:
            lines = "\n".join(f"  {line}" for line in outcome.kept)
            raise CommandError(f"Kept, {counted(len(outcome.kept), 'row')}:\n{lines}")
        if not (outcome.erased or outcome.beside):
            self.stdout.write(f"Nothing is kept of {email}.")
