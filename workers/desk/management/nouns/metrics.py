"""Prints the figures for Prometheus, or serves them where no web process does."""

import argparse
import signal
import threading
from typing import Any

from django.core.management.base import CommandError
from django.db import connections
from prometheus_client import start_http_server

from workers.desk.metrics import registry
from workers.management.terminal import TerminalCommand


class _Figures(registry.Figures):
    """The same for threads of a server, each of which gives its connection back."""

    def collect(self) -> Any:
        try:
            # Whole before anything is sent: half of the figures would be taken for all.
            return list(super().collect())
        finally:
            connections.close_all()


class Command(TerminalCommand):
    help = (
        "Prints the figures that `/metrics` has, in Prometheus' text format; with --port serves"
        " them until SIGTERM or Ctrl-C, for a project without web processes."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--port", type=int, help="serve them there")
        parser.add_argument(
            "--address", default="127.0.0.1", help="address to listen at; default 127.0.0.1"
        )

    def handle(self, *, port: int | None, address: str, **_: Any) -> None:
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
            server, thread = start_http_server(
                port, address, registry.collector_registry(_Figures())
            )
        except OSError as error:
            raise CommandError(f"{address}:{port} cannot be served: {error.strerror}.") from None
        self.stdout.write(f"serving http://{address}:{port}/metrics")
        self.stdout.flush()
        stopped.wait()
        server.shutdown()
        thread.join()
