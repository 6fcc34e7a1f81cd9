"""Log lines with their fields, for projects that log with ``logging`` as it comes.

The engine's records are an event's name, such as ``agent_crashed``; what else they say is their
``extra``, which ``logging`` shows nobody.  What is logged during a call, by whoever it is, belongs
to that call.
"""

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from copy import copy
from typing import Any

ENGINE = "workers"
#: What every record has; whatever else an engine's record has was given as ``extra``.
_OF_EVERY_RECORD = {*vars(logging.makeLogRecord({})), "message", "asctime", "taskName"}

_call: ContextVar[dict[str, Any]] = ContextVar("fields of the call")


@contextmanager
def within_call(**fields: Any) -> Iterator[None]:
    """Have whatever this thread logs in a block belong to a call."""
    token = _call.set(fields)
    try:
        yield
    finally:
        _call.reset(token)


def call_fields() -> dict[str, Any]:
    """Return what the call that this thread makes is: its agent, subject, step, attempt, claim.

    Empty: it makes none.
    """
    return dict(_call.get({}))


def fields_of(record: logging.LogRecord) -> dict[str, Any]:
    """Return a record's fields: those of the call, and an engine's record's own."""
    if record.name.partition(".")[0] != ENGINE:
        return call_fields()
    own = {name: value for name, value in vars(record).items() if name not in _OF_EVERY_RECORD}
    return {**call_fields(), **own}


class Formatter(logging.Formatter):
    """Writes what ``logging.Formatter`` writes, with a record's fields behind its message.

    ``agent_crashed agent=card.hold subject="Rental 1" step=deposit attempt=2 claim=01a2...``
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the text of a record; the record itself stays as it is."""
        return super().format(_with_fields(record))


class AddCallFields(logging.Filter):
    """Gives each record the fields of the call as attributes, for formatters of JSON.

    Add it to a handler.  It holds no record back, and replaces no attribute.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Return True."""
        for name, value in call_fields().items():
            vars(record).setdefault(name, value)
        return True


class FieldsFormatter(logging.Formatter):
    """Writes what another formatter writes, with a record's fields behind its message."""

    def __init__(self, inner: logging.Formatter) -> None:
        super().__init__()
        self.inner = inner

    def format(self, record: logging.LogRecord) -> str:
        """Return the text of a record; the record itself stays as it is."""
        return self.inner.format(_with_fields(record))


def show_fields_without_handlers() -> None:
    """Have ``logging``, where a process has no handler, as in a command, show the fields, too."""
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
    """Return a value as one word, or in quotes: no field can look like another or like a line."""
    text = str(value)
    is_word = text.isprintable() and not set(text) & set(" \"'=")
    return text if text and is_word else json.dumps(text, ensure_ascii=not text.isprintable())
