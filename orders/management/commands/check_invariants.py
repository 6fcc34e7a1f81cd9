"""Check everything that must be true of orders, processes and ledgers."""

import argparse
import json
from dataclasses import asdict
from typing import Any

import httpx2
from django.conf import settings
from django.core.management.base import CommandError
from django.db import Error as DatabaseError

from orders import invariants as shop
from workers import invariants as engine
from workers.management.terminal import TerminalCommand


class Command(TerminalCommand):
    help = (
        "Looks for rows that break an invariant, in the state store and, where the sandbox "
        "answers, in its ledgers. Exit 1 and the rows, where one is broken."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *, json: bool, **_: Any) -> None:
        try:
            # Before the ledgers: a database that is away is the more important news.
            found = engine.violations()
            ledgers = _ledgers()
            found += shop.violations(ledgers)
        except DatabaseError as error:
            raise CommandError(
                f"Nothing is known: {str(error).splitlines()[0][:200]}. Look at DATABASE_URL and "
                "at the server, run `manage.py migrate` if a table is missing, and ask again."
            ) from None
        checked = len(engine.INVARIANTS) + len(shop.NAMES if ledgers else shop.OWN_NAMES)
        if json:
            self._print_json(found, checked, ledgers is not None)
        else:
            for violation in found:
                self.stdout.write(f"{violation.subject}: {violation.wrong} ({violation.says})")
            witness = "with" if ledgers else "without (no sandbox answers)"
            self.stdout.write(
                f"{checked} invariants checked {witness} ledgers, {len(found)} rows break one."
            )
        if found:
            raise SystemExit(1)

    def _print_json(self, found: list[engine.Violation], checked: int, with_ledgers: bool) -> None:
        self.stdout.write(
            json.dumps(
                {
                    "holds": not found,
                    "invariants": checked,
                    "ledgers": with_ledgers,
                    "violations": [asdict(violation) for violation in found],
                }
            )
        )


def _ledgers() -> shop.Ledgers | None:
    try:
        return shop.Ledgers.read(settings.SANDBOX_URL)
    except httpx2.HTTPError:
        return None
