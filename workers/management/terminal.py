"""Commands that print what others sent: nothing in it may steer the terminal or forge a line."""

from collections.abc import Callable
from typing import Any

from django.core.management.base import BaseCommand, OutputWrapper

from workers.runtime.visible_text import visible


class Terminal(OutputWrapper):
    """Where a command's words go: a line for each ``write``, whatever is in it."""

    #: Whether a text may have lines of its own.
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
    """The same for refusals, some of which are lists."""

    breaks = "\n"


class TerminalCommand(BaseCommand):
    """A command whose every word goes through ``Terminal``, wherever it is printed to."""

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
