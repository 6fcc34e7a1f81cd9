"""`python manage.py stack`: the whole system in the foreground."""

import argparse
import json
import signal
import sys
from types import FrameType
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from sasproject.stack import ports
from sasproject.stack.assembly import Options, Stack, assemble
from sasproject.stack.console import Console
from sasproject.stack.exceptions import StackError


class Command(BaseCommand):
    help = (
        "Migrate, seed and run everything (web, workers, beat, broker, sandbox) until SIGTERM or "
        "Ctrl-C. Prints one line of JSON to the standard output when orders can be placed."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        web, sandbox = ports.help_text(ports.WEB_PORT), ports.help_text(ports.SANDBOX_PORT)
        parser.add_argument("--web-port", type=_port, metavar="P", help=web)
        parser.add_argument("--sandbox-port", type=_port, metavar="Q", help=sandbox)
        parser.add_argument(
            "--no-sandbox",
            action="store_true",
            help="do not run the stand-in remote services; agents call those at --sandbox-port, "
            "else at SANDBOX_URL",
        )
        parser.add_argument(
            "--no-demo-data", action="store_true", help="add no products and no demo accounts"
        )
        parser.add_argument(
            "--verbose",
            action="store_true",
            help="show the processes' output even when the standard output is no terminal",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        console = Console(sys.stderr, echo=options["verbose"] or sys.stdout.isatty())
        # Nothing runs yet that must be stopped.
        _on_signals(lambda number, frame: sys.exit(0))
        try:
            stack = assemble(
                Options(
                    web_port=options["web_port"],
                    sandbox_port=options["sandbox_port"],
                    sandbox=not options["no_sandbox"],
                    demo_data=not options["no_demo_data"],
                ),
                console,
            )
            _on_signals(_Stopper(stack))
            if stack.runner.start():
                self.stdout.write(
                    json.dumps({"ready": True, "web": stack.web_url, "sandbox": stack.sandbox_url})
                )
                self.stdout.flush()
                console.say(f"ready: {stack.web_url}")
            stack.runner.wait()
        except StackError as error:
            raise CommandError(str(error)) from error
        console.say("stopped")


class _Stopper:
    """Stops the stack on the first signal, at once on a second Ctrl-C."""

    def __init__(self, stack: Stack) -> None:
        self._stack = stack
        self._interrupts = 0

    def __call__(self, number: int, frame: FrameType | None) -> None:
        self._interrupts += number == signal.SIGINT
        self._stack.runner.request_stop(at_once=self._interrupts > 1)


def _on_signals(handler: Any) -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, handler)


def _port(text: str) -> int:
    try:
        port = int(text)
    except ValueError:
        port = -1
    if not 0 <= port <= 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port (0 to 65535; 0: any free one)")
    return port
