"""Prune old records now."""

import argparse
import time
from typing import Any

from django.core.management.base import CommandError

from workers.management.terminal import TerminalCommand, actor
from workers.operate import retention
from workers.store.journal import record_act

#: Time for one round; between two rounds another process may take over.
ROUND_SECONDS = 30.0
#: Time between two looks whether another process is done or, if it died, its lease has ended.
WAIT_SECONDS = 5.0


class Command(TerminalCommand):
    help = (
        "Deletes what is older than SAS_KEEP_JOURNAL_DAYS, SAS_KEEP_PROCESSES_DAYS and "
        "SAS_KEEP_RESOLVED_DAYS, in small transactions, until nothing is left. Celery Beat does "
        "the same every ten minutes."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--dry-run", action="store_true", help="only say how much would be deleted"
        )
        parser.add_argument(
            "--only",
            action="append",
            choices=[pruner.name for pruner in retention.pruners()],
            help="prune only this; may be repeated",
        )
        parser.add_argument(
            "--batch", type=int, default=retention.BATCH, help="rows or processes in a transaction"
        )

    def handle(self, *, dry_run: bool, only: list[str] | None, batch: int, **_: Any) -> None:
        if not 1 <= batch <= 5000:
            raise CommandError(f"--batch is {batch}. Give 1 to 5000.")
        if dry_run:
            self._count(only)
            return
        total: dict[str, int] = {}
        waited = 0.0
        while True:
            done = retention.prune(
                only, seconds=ROUND_SECONDS, batch=batch, progress=self._tell_progress
            )
            if done is None:
                self._wait(waited)
                waited += WAIT_SECONDS
                continue
            waited = 0.0
            total = {name: total.get(name, 0) + count for name, count in done.items()}
            if not any(done.values()):
                break
        if any(total.values()):
            gone = {name: count for name, count in total.items() if count}
            record_act("pruned_by_hand", {"pruned": gone}, actor=actor())
        for name, count in total.items():
            self.stdout.write(f"{name}: {count} pruned")

    def _wait(self, waited: float) -> None:
        if waited > 2 * retention.LEASE_SECONDS:
            raise CommandError(
                "Another process has been pruning all the while. Look which one on the admin's "
                "page of leases, and ask again when it is done."
            )
        if not waited:
            self.stderr.write("Another process is pruning, or died at it: waiting for its lease.")
        time.sleep(WAIT_SECONDS)

    def _tell_progress(self, name: str, done: int) -> None:
        if done:
            self.stderr.write(f"{name}: {done}")

    def _count(self, only: list[str] | None) -> None:
        for pruner in retention.pruners():
            if only is not None and pruner.name not in only:
                continue
            count = sum(rows.count() for rows in pruner.rows)
            self.stdout.write(f"{pruner.name}: {count} would go ({pruner.says})")
