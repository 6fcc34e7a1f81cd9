"""Mark what may have happened since the time the database was restored to."""

import argparse
from datetime import datetime
from typing import Any

from django.core.management.base import CommandError

from workers.definitions import registry
from workers.exceptions import StateError
from workers.management.terminal import TerminalCommand, actor, instant
from workers.models import Journal
from workers.store import isolation
from workers.store.alerts import raise_alert
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
        which = parser.add_mutually_exclusive_group(required=True)
        which.add_argument(
            "--since",
            type=instant,
            help="the restored time, such as 2026-11-21T09:30:00+00:00",
        )
        which.add_argument(
            "--nothing-lost",
            action="store_true",
            help="the database was moved with all its commits: nothing is put in doubt",
        )
        parser.add_argument(
            "--until",
            type=instant,
            help="the time from which nothing is missing, such as now: workers may run meanwhile",
        )

    def handle(
        self,
        *,
        since: datetime | None = None,
        until: datetime | None = None,
        nothing_lost: bool = False,
        **options: Any,
    ) -> None:
        if since is None:
            self._accept_all(until)
            return
        try:
            after_restore.check_since(since, until=until)
        except StateError as refusal:
            raise CommandError(str(refusal)) from None
        local = {agent.name for agent in registry.agents() if agent.is_local}
        after = processes = steps = 0
        while portion := after_restore.open_processes(since, after, PORTION, until):
            steps += sum(
                isolation.apart(
                    portion,
                    lambda part: after_restore.mark(
                        part, since, actor=actor(), until=until, local=local
                    ),
                    isolation.alerting("process", "mark"),
                )
            )
            processes += len(portion)
            after = portion[-1]
            self.stdout.write(f"{processes} processes looked at, {steps} steps in doubt")
        raise_alert(
            "restored",
            params={"since_at": since.isoformat(), "steps": steps, "processes": processes},
            subject=since.isoformat(),
        )
        if lost_commits.accept(actor(), f"restored, since {since.isoformat()}"):
            self.stdout.write("Claims are held no more.")
        self.stdout.write(f"Done: {processes} processes, {steps} steps in doubt.")

    def _accept_all(self, until: datetime | None) -> None:
        if until is not None:
            raise CommandError("--until goes with --since. Leave it out.")
        newest = Journal.objects.order_by("id").values_list("id", "at").last()
        if newest:
            self.stdout.write(f"The newest journal row is {newest[0]}, of {newest[1].isoformat()}.")
        if lost_commits.accept(actor(), "nothing was lost", is_whole=True):
            self.stdout.write("Claims are held no more.")
        self.stdout.write("Done: the database is taken as it is.")
