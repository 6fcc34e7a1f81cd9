"""Mark what may have happened since the time the database was restored to."""

import argparse
from datetime import datetime
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from workers.definitions import registry
from workers.exceptions import StateError
from workers.management.terminal import TerminalCommand, actor
from workers.store.alerts import raise_alert
from workers.store.db import dialect
from workers.store.operate import after_restore, lost_commits

PORTION = 200


class Command(TerminalCommand):
    help = (
        "Run once after the database was restored to an earlier time, before anything else is "
        "started, or after a standby that lagged was promoted: puts every step in doubt that may "
        "have run since, so that nothing happens twice, and lifts the hold of claims. What was "
        "accepted after that time is not in the database any more."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--since", required=True, help="the restored time, such as 2026-11-21T09:30:00+00:00"
        )
        parser.add_argument(
            "--until",
            help="the time from which nothing is missing, such as now: workers may run meanwhile",
        )

    def handle(self, *, since: str, until: str | None = None, **options: Any) -> None:
        at = _instant("--since", since)
        end = None if until is None else _instant("--until", until)
        try:
            after_restore.check_since(at, until=end)
        except StateError as refusal:
            raise CommandError(str(refusal)) from None
        local = {agent.name for agent in registry.agents() if agent.is_local}
        after = processes = steps = 0
        while portion := after_restore.open_processes(at, after, PORTION, end):
            steps += after_restore.mark(portion, at, actor=actor(), until=end, local=local)
            processes += len(portion)
            after = portion[-1]
            self.stdout.write(f"{processes} processes looked at, {steps} steps in doubt")
        raise_alert(
            "restored",
            params={"since_at": at.isoformat(), "steps": steps, "processes": processes},
            subject=at.isoformat(),
        )
        if lost_commits.accept(actor(), f"restored, since {at.isoformat()}"):
            self.stdout.write("Claims are held no more.")
        self.stdout.write(f"Done: {processes} processes, {steps} steps in doubt.")


def _instant(name: str, text: str) -> datetime:
    if text == "now":
        return dialect.read_clock()
    try:
        instant = parse_datetime(text)
    except ValueError:
        instant = None
    if instant is None:
        raise CommandError(f"{name} is {text!r}. Write it as 2026-11-21T09:30:00+00:00.")
    if timezone.is_naive(instant):
        raise CommandError(f"{name} {text} has no time zone. Add one, such as +00:00.")
    return instant
