"""Log lines with their fields, for projects that use plain ``logging``.

The message of an engine's record is the name of an event, such as ``agent_crashed``; its facts are
in ``extra``, which ``logging`` does not show.  Every line that is logged during an agent's call
belongs to that call.
"""

import json
import logging
import select
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from copy import copy
from typing import Any

#: How long a line waits for a full pipe, if the line before got through.
WAIT_SECONDS = 1.0
#: The most bytes that are written without waiting once there is room for one (POSIX: PIPE_BUF).
PIECE = 4096
ENGINE = "workers"
#: Attributes of every record; all others of an engine's record come from ``extra``.
_STANDARD = {*vars(logging.makeLogRecord({})), "message", "asctime", "taskName"}

_call: ContextVar[dict[str, Any]] = ContextVar("fields of the call")


@contextmanager
def within_call(**fields: Any) -> Iterator[None]:
    """Attach the fields of a call to whatever this thread logs in a block."""
    token = _call.set(fields)
    try:
        yield
    finally:
        _call.reset(token)


def call_fields() -> dict[str, Any]:
    """Return the fields of this thread's call: its agent, subject, step, attempt and claim.

    Empty: no call is running.
    """
    return dict(_call.get({}))


def fields_of(record: logging.LogRecord) -> dict[str, Any]:
    """Return a record's fields: those of the call, and for the engine's records their extra."""
    if record.name.partition(".")[0] != ENGINE:
        return call_fields()
    extra = {name: value for name, value in vars(record).items() if name not in _STANDARD}
    return {**call_fields(), **extra}


class Formatter(logging.Formatter):
    """Writes what ``logging.Formatter`` writes, with a record's fields after its message.

    ``agent_crashed agent=card.hold subject="Rental 1" step=deposit attempt=2 claim=01a2...``
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the text of a record; the record itself stays as it is."""
        return super().format(_with_fields(record))


class DroppingHandler(logging.StreamHandler[Any]):
    """Writes to standard error, and drops lines that would have to wait for long.

    A thread that waits for a pipe that nobody reads holds the lock for which all others of its
    process wait.  The first line that gets through again says how many were dropped.
    """

    _dropped = 0
    _is_cut = False

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record, or count it as dropped."""
        try:
            if self._dropped and has_room(self.stream):
                dropped, self._dropped = self._dropped, 0
                fields = (ENGINE, logging.WARNING, "", 0, "log_lines_dropped", (), None)
                self._write(logging.LogRecord(*fields), lines=dropped)
            self._write(record)
        except Exception:  # noqa: BLE001 (as every handler of the standard library does)
            self.handleError(record)

    def _write(self, record: logging.LogRecord, **extra: Any) -> None:
        vars(record).update(extra)
        text = ("\n" if self._is_cut else "") + self.format(record) + self.terminator
        size = PIECE if text.isascii() else PIECE // 4
        for begin in range(0, len(text), size):
            if not has_room(self.stream, 0 if self._dropped else WAIT_SECONDS):
                self._dropped += 1
                self._is_cut = self._is_cut or begin > 0
                return
            self.stream.write(text[begin : begin + size])
            self.flush()
        self._is_cut = False


def has_room(stream: Any, seconds: float = 0.0) -> bool:
    """Say whether a stream takes a piece within some seconds; one in memory or on disk does."""
    try:
        file = stream.fileno()
    except (AttributeError, OSError, ValueError):
        return True
    if not hasattr(select, "poll"):
        return True
    poll = select.poll()
    poll.register(file, select.POLLOUT)
    return bool(poll.poll(seconds * 1000))


def is_stuck() -> bool:
    """Say whether the next line of this process would wait for a pipe that is full."""
    return any(
        isinstance(handler, logging.StreamHandler)
        and not isinstance(handler, DroppingHandler)
        and not has_room(handler.stream)
        for handler in logging.root.handlers
    )


class AddCallFields(logging.Filter):
    """Adds the fields of the call to each record as attributes, for JSON formatters.

    Add it to a handler.  It drops no record and replaces no attribute.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Return True."""
        for name, value in call_fields().items():
            vars(record).setdefault(name, value)
        return True


class FieldsFormatter(logging.Formatter):
    """Writes what another formatter writes, with a record's fields after its message."""

    def __init__(self, inner: logging.Formatter) -> None:
        super().__init__()
        self.inner = inner

    def format(self, record: logging.LogRecord) -> str:
        """Return the text of a record; the record itself stays as it is."""
        return self.inner.format(_with_fields(record))


def show_fields_without_handlers() -> None:
    """Show the fields in processes without a log handler, such as commands."""
    last = logging.lastResort
    if last is not None and last.formatter is None:
        last.setFormatter(Formatter())


def _with_fields(record: logging.LogRecord) -> logging.LogRecord:
    fields = fields_of(record)
    if not fields:
        return record
    shown = copy(record)
    pairs = " ".join(f"{name}={_text(value)}" for name, value in fields.items())
    shown.msg, shown.args = f"{record.getMessage()} {pairs}", None
    return shown


def _text(value: Any) -> str:
    """Return a value as one word, or in quotes: no value can imitate a field or a line."""
    text = str(value)
    is_word = text.isprintable() and not set(text) & set(" \"'=")
    return text if text and is_word else json.dumps(text, ensure_ascii=not text.isprintable())
