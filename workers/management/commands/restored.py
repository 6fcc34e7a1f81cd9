"""Marks what may have happened since the time the database was restored to."""

import argparse
from datetime import datetime
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from workers.exceptions import StateError
from workers.management.process_actions import actor
from workers.management.terminal import TerminalCommand
from workers.store.alerts import raise_alert
from workers.store.operate import after_restore

PORTION = 200


class Command(TerminalCommand):
    help = (
        "Run once after the database was restored to an earlier time, before anything else is "
        "started: puts every step in doubt that may have run since, so that nothing happens "
        "twice. Orders that were accepted after that time are not in the database any more."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--since", required=True, help="the restored time, such as 2026-11-21T09:30:00+00:00"
        )

    def handle(self, *, since: str, **options: Any) -> None:
        at = _instant(since)
        try:
            after_restore.check_since(at)
        except StateError as refusal:
            raise CommandError(str(refusal)) from None
        after = processes = steps = 0
        while portion := after_restore.open_processes(at, after, PORTION):
            steps += after_restore.mark(portion, at, actor=actor())
            processes += len(portion)
            after = portion[-1]
            self.stdout.write(f"{processes} processes looked at, {steps} steps in doubt")
        raise_alert(
            "restored",
            params={"since_at": at.isoformat(), "steps": steps, "processes": processes},
            subject=at.isoformat(),
        )
        self.stdout.write(f"Done: {processes} processes, {steps} steps in doubt.")


def _instant(text: str) -> datetime:
    try:
        found = parse_datetime(text)
    except ValueError:
        found = None
    if found is None:
        raise CommandError(f"--since is {text!r}. Write it as 2026-11-21T09:30:00+00:00.")
    if timezone.is_naive(found):
        raise CommandError(f"--since {text} has no time zone. Add one, such as +00:00.")
    return found
