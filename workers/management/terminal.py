"""Commands that print what others sent: nothing in it may steer the terminal or forge a line."""

import argparse
import getpass
import time
from collections.abc import Callable
from typing import Any

from django.core.management.base import BaseCommand, CommandError, OutputWrapper

from workers.exceptions import BadText
from workers.rules.masks import MAIL
from workers.runtime import storable_text
from workers.runtime.visible_text import visible
from workers.states import PEOPLE
from workers.wire import dispatch

#: Time a command gives the broker for the wake-ups of what it did; without, the poll looks.
FLUSH_SECONDS = 5.0
#: Told that it takes long no more often than this.
TELL_SECONDS = 5.0


class Terminal(OutputWrapper):
    """Where a command's words go: a line for each ``write``, whatever is in it."""

    #: What a text may have of its own: line breaks, tabs.
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
    """The same for refusals, some of which are lists, and for checks, whose hints are indented."""

    breaks = "\n\t"


class TerminalCommand(BaseCommand):
    """A command whose every word goes through ``Terminal``, wherever it is printed to.

    Its options are text that every database holds: bytes that are no UTF-8 are refused.  It ends
    once the wake-ups of what it did have left.
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
            # A background thread sends them, and ends with the process.
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
    """Return who runs the command, for the journal."""
    try:
        return f"{PEOPLE}{getpass.getuser()}"
    except (KeyError, OSError):  # a user id without a name, as in some containers
        return f"{PEOPLE}unknown"


def mail_address(text: str) -> str:
    """Return an argument that is a mail address; for argparse."""
    if not MAIL.fullmatch(text.strip()):
        raise argparse.ArgumentTypeError(f"EMAIL must be a mail address, got {text!r}.")
    return text.strip()


class Teller:
    """Says on standard error how far something is that takes long."""

    def __init__(self, stream: Any, of_what: str) -> None:
        self._stream, self._of_what, self._told_at = stream, of_what, time.monotonic()

    def __call__(self, name: str, done: int, of: int) -> None:
        if time.monotonic() - self._told_at >= TELL_SECONDS:
            self._told_at = time.monotonic()
            self._stream.write(f"{name}: {done} of {of} {self._of_what}")
