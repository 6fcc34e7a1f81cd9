"""Say whether a long-running process lives, by the file that it marks."""

import argparse
import os
from typing import Any

from django.core.management.base import CommandError

from workers import alive
from workers.management.terminal import TerminalCommand


class Command(TerminalCommand):
    help = (
        "Says by its file (SAS_ALIVE_FILE) whether a process lives; exit 1 where it does not."
        " `python -m workers.alive ROLE` does the same without loading the project, for probes."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("role", choices=alive.ROLES, help="which kind of process it is")

    def handle(self, *, role: str, **_: Any) -> None:
        if problem := alive.problem(role, os.environ.get(alive.VARIABLE)):
            raise CommandError(problem)
        self.stdout.write(f"The {role} lives.")
