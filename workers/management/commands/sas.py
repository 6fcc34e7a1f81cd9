"""The engine's only command: all other names in `manage.py` are left to the project."""

import argparse
import re
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError

from workers.management.terminal import TerminalCommand
from workers.runtime.our_apps import our_apps


def nouns() -> dict[str, str]:
    """Return the modules of the nouns by name, of the engine and its installed apps.

    An app may have more to say of a noun of the engine's.
    """
    modules = {}
    for app in sorted(our_apps(), key=lambda app: app.name):
        package = import_module(f"{app.name}.management.nouns")
        for module in iter_modules(package.__path__):
            modules[module.name] = f"{package.__name__}.{module.name}"
    return dict(sorted(modules.items()))


def command_of(noun: str) -> BaseCommand:
    """Return the command of a noun.  Raises ``CommandError`` that names the nouns."""
    modules = nouns()
    if noun not in modules:
        raise CommandError(f"NOUN must be one of {', '.join(modules)}, got {noun!r}.")
    return import_module(modules[noun]).Command()  # type: ignore[no-any-return]


class Command(TerminalCommand):
    help = "Shows and steers the engine: `manage.py sas NOUN --help` says what a noun takes."

    def run_from_argv(self, argv: list[str]) -> None:
        if len(argv) > 2 and argv[2] in nouns():
            # Run directly, so that usage, errors and exit code are the noun's own.
            command_of(argv[2]).run_from_argv([argv[0], f"{argv[1]} {argv[2]}", *argv[3:]])
            return
        super().run_from_argv(argv)

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        parser.epilog = "nouns:\n" + "\n".join(
            f"  {noun:<12} {re.split('[.:;] ?', command_of(noun).help)[0]}" for noun in nouns()
        )
        parser.add_argument("noun", metavar="NOUN", help="one of the nouns below")
        parser.add_argument("words", nargs=argparse.REMAINDER, metavar="...", help="what it takes")

    def handle(self, *, noun: str, words: list[str], **options: Any) -> None:
        streams = {name: options.get(name) for name in ("stdout", "stderr")}
        call_command(command_of(noun), *words, **streams)
