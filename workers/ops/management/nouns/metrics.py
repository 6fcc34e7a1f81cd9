"""Prints the figures for Prometheus, or serves them where no web process does."""

import argparse
import signal
import threading
from typing import Any

from django.core.management.base import CommandError

from workers.management.terminal import TerminalCommand


class Command(TerminalCommand):
    help = (
        "Prints the figures that `/metrics` has, in Prometheus' text format; with --port serves"
        " them until SIGTERM or Ctrl-C, for a project without web processes."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--port", type=int, help="serve them on this port")
        parser.add_argument(
            "--address", default="127.0.0.1", help="address to listen at; default 127.0.0.1"
        )

    def handle(self, *, port: int | None, address: str, **_: Any) -> None:
        try:
            # An extra, which a project need not install.
            from workers.ops.metrics import registry
        except ModuleNotFoundError as missing:
            raise CommandError(
                f"{missing.name} is not installed. Install scheduler-agent-supervisor[metrics]."
            ) from None
        if port is None:
            for line in registry.exposition().decode().splitlines():
                self.stdout.write(line)
            return
        if not 1 <= port <= 65535:
            raise CommandError(f"--port must be 1 to 65535, got {port}.")
        stopped = threading.Event()
        for ending in (signal.SIGTERM, signal.SIGINT):
            signal.signal(ending, lambda *_: stopped.set())
        try:
            stop = registry.serve(port, address)
        except OSError as error:
            raise CommandError(f"{address}:{port} cannot be served: {error.strerror}.") from None
        self.stdout.write(f"serving http://{address}:{port}/metrics")
        self.stdout.flush()
        stopped.wait()
        stop()
