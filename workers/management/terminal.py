"""Commands that print texts of others, which must not steer the terminal or forge a line."""

import argparse
import getpass
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, OutputWrapper
from django.core.validators import validate_email
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from workers.exceptions import BadText
from workers.runtime import storable_text
from workers.runtime.visible_text import visible
from workers.states import PEOPLE
from workers.store.db import dialect
from workers.wire import dispatch

#: Time for the broker to take a command's wake-ups; after it they are left to the poll.
FLUSH_SECONDS = 5.0
#: Shortest time between two reports of progress.
TELL_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class ActionResult:
    """The result of an action: lines for people, facts for programs."""

    lines: list[str]
    facts: dict[str, Any]


class Terminal(OutputWrapper):
    """A command's output: one line for each ``write``, whatever the text."""

    #: Control characters that a text may have: line breaks, tabs.
    breaks = ""

    def write(  # type: ignore[override]  # as OutputWrapper's own
        self,
        msg: str = "",
        style_func: Callable[[str], str] | None = None,
        ending: str | None = None,
    ) -> None:
        end = self.ending if ending is None else ending
        body = msg.removesuffix(end) if end else msg
        super().write(visible(body, keep=self.breaks), style_func, end)


class ErrorTerminal(Terminal):
    """A command's errors: some refusals are lists, and the hints of checks are indented."""

    breaks = "\n\t"


class TerminalCommand(BaseCommand):
    """A command whose whole output goes through ``Terminal``.

    Its options are text that every database can hold: bytes that are not UTF-8 are refused.  It
    ends once its wake-ups have been sent.
    """

    def execute(self, *args: Any, **options: Any) -> str | None:
        try:
            for name, value in options.items():
                storable_text.check_value(f"--{name.replace('_', '-')}", value)
        except BadText as refusal:
            raise CommandError(str(refusal)) from None
        try:
            return super().execute(*args, **options)
        finally:
            # A background thread sends the wake-ups, and ends with the process.
            dispatch.flush(FLUSH_SECONDS)

    @property
    def stdout(self) -> Any:
        return self._stdout

    @stdout.setter
    def stdout(self, out: Any) -> None:
        self._stdout = Terminal(out._out)

    @property
    def stderr(self) -> Any:
        return self._stderr

    @stderr.setter
    def stderr(self, out: Any) -> None:
        self._stderr = ErrorTerminal(out._out)


def actor() -> str:
    """Return the user who runs the command, for the journal."""
    try:
        return f"{PEOPLE}{getpass.getuser()}"
    except (KeyError, OSError):  # a user id without a name, as in some containers
        return f"{PEOPLE}unknown"


def mail_address(text: str) -> str:
    """Return an argument that is a mail address; for argparse."""
    try:
        validate_email(text.strip())
    except ValidationError:
        raise argparse.ArgumentTypeError(f"EMAIL must be a mail address, got {text!r}.") from None
    return text.strip()


def json_object(text: str) -> dict[str, Any]:
    """Return an argument that is a JSON object; for argparse."""
    try:
        value = json.loads(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no JSON: {error}.") from None
    if not isinstance(value, dict):
        raise argparse.ArgumentTypeError('it must be a JSON object, such as {"id": 7}.')
    return value


def instant(text: str) -> datetime:
    """Return an argument that is an instant with its time zone, or ``now``; for argparse."""
    if text == "now":
        return dialect.read_clock()
    try:
        at = parse_datetime(text)
    except ValueError:
        at = None
    if at is None:
        raise argparse.ArgumentTypeError(
            f"must be an instant, got {text!r}. Write it as 2026-11-21T09:30:00+00:00."
        )
    if timezone.is_naive(at):
        raise argparse.ArgumentTypeError(f"{text} has no time zone. Add one, such as +00:00.")
    return at


class Teller:
    """Reports the progress of long work on standard error."""

    def __init__(self, stream: Any, unit: str) -> None:
        self._stream, self._unit, self._told_at = stream, unit, time.monotonic()

    def __call__(self, name: str, done: int, total: int) -> None:
        if time.monotonic() - self._told_at >= TELL_SECONDS:
            self._told_at = time.monotonic()
            self._stream.write(f"{name}: {done} of {total} {self._unit}")
