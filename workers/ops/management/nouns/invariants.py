"""Check everything that must be true of processes; an application adds its own invariants."""

import argparse
import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandError
from django.db import Error as DatabaseError

from workers.exceptions import first_line
from workers.management.terminal import Teller, TerminalCommand
from workers.ops import invariant_check as engine
from workers.ops.invariant_check import Result
from workers.ops.invariants import Violation
from workers.store.db.slices import SLICE, Progress

#: Exit code: no invariant is broken as far as was checked, and not all were checked completely.
UNKNOWN = 2


class Command(TerminalCommand):
    """Checks the engine's invariants; a subclass in an application checks its own in ``also``."""

    help = (
        "Looks for rows that break an invariant. Exit 1 and the rows, where one is broken; exit 2, "
        "where none is and one was not looked at whole."
    )
    #: Printed after the number of invariants that were checked.
    witness = ""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="print one JSON object")
        parser.add_argument(
            "--timeout",
            type=float,
            default=engine.STATEMENT_SECONDS,
            help=f"seconds that a statement may take; each looks at {SLICE} processes (PostgreSQL)",
        )

    def handle(self, *, json: bool, timeout: float, **_: Any) -> None:
        if timeout < 0.001:
            raise CommandError(f"--timeout must be a number of seconds above 0, got {timeout:g}.")
        progress = Teller(self.stderr, "slices")
        results: list[Result] = []
        try:
            results += engine.check(progress, seconds=timeout)
            results += self.also(progress, timeout)
        except DatabaseError as error:
            raise CommandError(
                f"Nothing was checked: {first_line(error)}. Check DATABASE_URL and "
                "the server, run `manage.py migrate` if a table is missing, and ask again."
            ) from None
        violations = [violation for result in results for violation in result.violations]
        unknown = [result for result in results if result.unknown]
        checked = len(results) - len(unknown)
        if json:
            self._print_json(violations, unknown, checked)
        else:
            for line in _lines(violations, unknown):
                self.stdout.write(line)
            rows = "1 row breaks" if len(violations) == 1 else f"{len(violations)} rows break"
            self.stdout.write(f"{checked} invariants checked{self.witness}, {rows} one.")
        if violations or unknown:
            raise SystemExit(1 if violations else UNKNOWN)

    def also(self, progress: Progress, seconds: float) -> Iterable[Result]:
        """Check an application's own invariants."""
        return ()

    def facts(self) -> dict[str, Any]:
        """Return an application's fields for the JSON object."""
        return {}

    def _print_json(self, violations: list[Violation], unknown: list[Result], checked: int) -> None:
        self.stdout.write(
            json.dumps(
                {
                    "holds": not violations and not unknown,
                    "invariants": checked,
                    **self.facts(),
                    "violations": [asdict(violation) for violation in violations],
                    "unknown": [
                        {"invariant": result.invariant, "why": result.unknown} for result in unknown
                    ],
                }
            )
        )


def _lines(violations: list[Violation], unknown: list[Result]) -> Iterator[str]:
    for violation in violations:
        yield f"{violation.subject}: {violation.wrong} ({violation.says})"
    for result in unknown:
        yield f"{result.invariant}: not known, it {result.unknown}. Give a larger --timeout."
