"""Runs the simulated remote services."""

import argparse
import errno
import json
import signal
import sqlite3
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError

from orders.sandbox.faults import FaultSet, InvalidFaults
from orders.sandbox.server import Sandbox
from orders.sandbox.services import SERVICES
from workers.management.terminal import TerminalCommand

ENDINGS = {signal.SIGTERM, signal.SIGINT}


class Command(TerminalCommand):
    help = (
        "Plays the remote services (payment, shipping, courier, billing) over HTTP until "
        "SIGTERM or Ctrl-C. Their ledgers and fault sets survive a restart."
    )
    # The services need neither the database nor the site.
    requires_system_checks = []

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--port", type=_port, default=8900, help="default 8900; 0 picks one")
        parser.add_argument("--host", default="127.0.0.1", help="default 127.0.0.1")
        parser.add_argument(
            "--store",
            type=Path,
            help="the ledgers' SQLite file; default sandbox.sqlite3 in SAS_RUN_DIR",
        )
        parser.add_argument(
            "--faults",
            type=_fault_sets,
            default={},
            metavar="JSON",
            help='fault sets to begin with, by service: {"payment": {"error_rate": 0.1}}',
        )

    def handle(
        self, *, port: int, host: str, store: Path | None, faults: dict[str, Any], **_: Any
    ) -> None:
        store = store or Path(settings.RUN_DIR) / "sandbox.sqlite3"
        # Blocked here, and so in every thread started below, until sigwait.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, ENDINGS)
        try:
            sandbox = _open(host, port, store)
            for name, fault_set in faults.items():
                sandbox.services[name].replace_faults(json.dumps(fault_set).encode())
            with sandbox:
                self.stdout.write(f"Sandbox at {sandbox.url}, ledgers in {store}")
                self.stdout.flush()
                signal.sigwait(ENDINGS)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _open(host: str, port: int, store: Path) -> Sandbox:
    try:
        store.parent.mkdir(parents=True, exist_ok=True)
        return Sandbox(store, host=host, port=port)
    except sqlite3.Error as problem:
        raise CommandError(f"Cannot keep ledgers in {store}: {problem}.") from problem
    except OSError as problem:
        if problem.errno == errno.EADDRINUSE:
            message = f"Port {port} of {host} is taken. Stop what listens there, or choose --port."
            raise CommandError(message) from problem
        raise CommandError(f"Cannot start at {host}:{port}: {problem}.") from problem


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is no port; choose one from 0 to 65535")
    return int(text)


def _fault_sets(text: str) -> dict[str, Any]:
    try:
        fault_sets = json.loads(text)
    except (ValueError, RecursionError):
        fault_sets = None
    if not isinstance(fault_sets, dict) or not fault_sets.keys() <= SERVICES.keys():
        services = ", ".join(SERVICES)
        raise argparse.ArgumentTypeError(f"must be a JSON object by service ({services})")
    for name, fault_set in fault_sets.items():
        if not isinstance(fault_set, dict):
            raise argparse.ArgumentTypeError(f"{name}: must be a JSON object of fault switches")
        try:
            FaultSet.read(fault_set)
        except InvalidFaults as invalid:
            raise argparse.ArgumentTypeError(f"{name}: {invalid}") from None
    return fault_sets
