"""`python manage.py demo`: the whole system under faults, and orders that recover."""

import os
import sys
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import Any

import httpx2
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError, InterfaceError

from sasproject.demo import environment, folder, headless, interactive, options, script, summary
from sasproject.demo.ending import DemoStopped, Ending
from sasproject.demo.options import HEADLESS_ORDERS, Options
from sasproject.demo.run import Run
from sasproject.demo.tally import Tally
from sasproject.demo.voice import Voice, log_to
from sasproject.stack import assembly
from sasproject.stack.exceptions import StackError
from workers.exceptions import first_line


class Command(BaseCommand):
    help = (
        "Runs everything with faults switched on, lets orders come in, kills processes, and "
        "counts at the end from the store and the services' ledgers what came of it. Exit 0 "
        "only if nothing was lost, nothing happened twice and every invariant holds."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        options.add_arguments(parser)

    def run_from_argv(self, argv: list[str]) -> None:
        if not environment.is_prepared(os.environ):
            environment.run_again(environment.prepare(os.environ, Path(settings.RUN_DIR)))
        super().run_from_argv(argv)

    def handle(self, *args: Any, **arguments: Any) -> None:
        if not environment.is_prepared(os.environ):
            raise CommandError("The demo is started from the command line: manage.py demo")
        choices = Options(**{name: arguments[name] for name in Options.__dataclass_fields__})
        ending, voice = Ending(), Voice(sys.stderr)
        ending.install()
        try:
            tally = _play(choices, ending, voice)
        except StackError as error:
            raise CommandError(str(error)) from error
        except (httpx2.HTTPError, DatabaseError, InterfaceError) as error:
            raise CommandError(f"The demo cannot go on: {first_line(error)}") from error
        except DemoStopped:
            raise CommandError("The demo was stopped before its end.") from None
        self._report(tally, choices)

    def _report(self, tally: Tally, choices: Options) -> None:
        # In the interactive mode a run without kills is no failure.
        is_failed = bool(tally.failings() or (choices.headless and tally.gaps()))
        if not choices.json:
            self.stdout.write(summary.text(tally))
        elif is_failed:
            self.stderr.write(summary.text(tally))
        if choices.headless or choices.json:
            self.stdout.write(tally.as_json())
        self.stdout.flush()
        if is_failed:
            sys.exit(1)


def _play(choices: Options, ending: Ending, voice: Voice) -> Tally:
    run_dir = Path(settings.RUN_DIR)
    began = environment.began(os.environ)
    if not choices.keep:
        folder.empty(run_dir)
    stack = assembly.assemble(
        assembly.Options(web_port=choices.web_port, sandbox_port=choices.sandbox_port), voice
    )
    environment.use_broker(stack.env, run_dir)
    log_to(run_dir / "logs" / "demo.log")
    ending.begin_start(stack.runner)
    orders = choices.orders or (HEADLESS_ORDERS if choices.headless else None)
    try:
        if not stack.runner.start():
            raise DemoStopped
        ending.begin_run()
        run = Run(
            stack,
            run_dir,
            seed=choices.seed,
            per_second=script.per_second(orders)
            if choices.headless and orders
            else interactive.PER_SECOND,
            orders=orders,
            ending=ending,
            voice=voice,
            began=began,
        )
        try:
            if choices.headless and orders:
                headless.play(run, orders)
            else:
                interactive.play(run)
            tally = run.tally()
        finally:
            run.generator.stop()
    finally:
        ending.begin_stop()
        voice.say("stopping")
        stack.runner.stop()
    return replace(tally, seconds=monotonic() - began)
