"""Watches from outside the workers, and tells operators when no worker can."""

import argparse
import logging
import signal
import threading
from typing import Any

from django.core.management import CommandError
from django.db import InterfaceError, OperationalError, connections

from workers import alive, logs
from workers.checks import tables
from workers.desk.management.watch import PATIENCE_SECONDS, Watch
from workers.management.terminal import TerminalCommand

log = logging.getLogger(__name__)

LOOK_SECONDS = 10.0
ENDINGS = (signal.SIGTERM, signal.SIGINT)


class Command(TerminalCommand):
    help = (
        "Looks every few seconds whether workers do their duties, until SIGTERM or Ctrl-C. Where"
        " they do not, it raises the incident and tells routes by itself. Run it where no worker"
        " runs, beside the web processes."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--once", action="store_true", help="look once, without patience; exit 1 if it is late"
        )
        parser.add_argument(
            "--every", type=float, default=LOOK_SECONDS, help="seconds between looks; default 10"
        )
        parser.add_argument(
            "--patience",
            type=float,
            default=PATIENCE_SECONDS,
            help="seconds that workers have before it acts; default 60",
        )

    def handle(self, *, once: bool, every: float, patience: float, **_: Any) -> None:
        if every <= 0 or patience < 0:
            raise CommandError("--every must be above 0 and --patience 0 or more.")
        if problem := tables.problem():
            raise CommandError(problem)
        if once:
            if self._look(Watch(patience=0)):
                raise SystemExit(1)
            return
        alive.keep("watch", logs.is_stuck)
        stopped = threading.Event()
        before = {ending: signal.signal(ending, lambda *_: stopped.set()) for ending in ENDINGS}
        watch = Watch(patience=patience)
        self.stdout.write("watching")
        self.stdout.flush()
        try:
            while not stopped.wait(every):
                try:
                    self._look(watch)
                except (OperationalError, InterfaceError) as away:
                    # Without the database no route can be told; the ping that stops is noticed.
                    log.warning("watch_failed", extra={"reason": str(away)[:200]})
                except Exception:
                    log.exception("watch_failed")
                finally:
                    connections.close_all()
        finally:
            for ending, handler in before.items():
                signal.signal(ending, handler)

    def _look(self, watch: Watch) -> bool:
        """Look once and print what was late; return whether anything was."""
        result = watch.look()
        if result.late or result.told:
            late = ", ".join(result.late) or "nothing"
            self.stdout.write(f"late: {late}; told: {result.told}")
            self.stdout.flush()
        return bool(result.late)
