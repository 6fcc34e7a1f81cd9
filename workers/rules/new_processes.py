"""Check a new process before anything is written."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime

from workers.exceptions import BadText, MessageError
from workers.protocol.messages import check_limits
from workers.rules.rows import NewProcess, NewSink
from workers.runtime import storable_text
from workers.runtime.json_text import UnreadableDocument, encode_strictly

#: The lengths of the columns.
LONGEST_SUBJECT = 200
LONGEST_ADDRESS, LONGEST_OWNER, LONGEST_CORRELATION = 500, 100, 200
#: A higher priority would put a process before the earliest instant that ``datetime`` has.
HIGHEST_PRIORITY = 100
SINK_KINDS = ("queue", "webhook")


def check(process: NewProcess) -> None:
    """Raise ``BadText``, ``ValueError`` or ``TypeError`` for values that no column holds."""
    _check_subject(process.subject)
    storable_text.check("lane", process.lane)
    _check_priority(process.priority)
    _check_deadline(process.deadline_at)
    check_input(process.input)
    _check_sinks(process.told)


def _check_subject(subject: str) -> None:
    storable_text.check("subject", subject, LONGEST_SUBJECT)
    # The subject is the title of every page and message about the process.
    if not subject.strip():
        raise BadText(f"subject must not be blank, got {subject!r}. Say what the process is about.")


def _check_priority(priority: int) -> None:
    if not isinstance(priority, int):
        raise TypeError(f"priority must be a whole number, got {priority!r}.")
    if not 0 <= priority <= HIGHEST_PRIORITY:
        raise ValueError(
            f"priority must be 0 to {HIGHEST_PRIORITY}, got {priority}. Give the others less."
        )


def _check_deadline(deadline_at: datetime | None) -> None:
    if deadline_at is not None and not isinstance(deadline_at, datetime):
        raise TypeError(
            f"deadline_at must be a datetime with a time zone, got {deadline_at!r}. "
            "Add it to the present instant."
        )
    if deadline_at is not None and deadline_at.tzinfo is None:
        raise ValueError(
            f"deadline_at must be an instant with a time zone, got {deadline_at!r}. Make it aware."
        )


def check_deadlines(processes: Sequence[NewProcess], now: datetime) -> None:
    """Raise ``ValueError`` for a deadline in the past: its process would be undone at once."""
    for process in processes:
        if process.deadline_at is not None and process.deadline_at <= now:
            raise ValueError(
                f"deadline_at of {process.subject!r} must lie ahead,"
                f" got {process.deadline_at.isoformat()}, and it is"
                f" {now.isoformat(timespec='seconds')}. Give it a later one or none."
            )


def check_input(document: object) -> None:
    # Editing, masking and describing work on its members, and the column is not nullable.
    if not isinstance(document, dict):
        raise TypeError(f"input must be a dict, got {type(document).__name__}. Put it into one.")
    try:
        text = encode_strictly(document)
    except RecursionError:
        raise ValueError("input is nested too deep to be JSON. Flatten it.") from None
    except (TypeError, ValueError) as error:
        if isinstance(error, UnreadableDocument):
            # Mostly for a text that cannot be stored, either: that one is named.
            storable_text.check_value("input", document)
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(
            f"input must be JSON, got a value that JSON does not have: {error}. Pass text or None."
        ) from None
    try:
        check_limits(document, text, "input")
    except MessageError as error:
        raise ValueError(str(error)) from None
    # The encoder escapes these, so most inputs need no second walk.
    if "\\u0000" in text or "\\ud" in text:
        storable_text.check_value("input", document)


def _check_sinks(sinks: Sequence[NewSink]) -> None:
    for sink in sinks:
        if not isinstance(sink, NewSink):
            raise TypeError(f"sinks must be a sequence of NewSink, got {sink!r} in it.")
        if sink.kind not in SINK_KINDS:
            raise ValueError(
                f"The kind of a sink must be {' or '.join(SINK_KINDS)}, got {sink.kind!r}."
            )
        storable_text.check("The address of a sink", sink.address, LONGEST_ADDRESS)
        storable_text.check("The owner of a sink", sink.owner, LONGEST_OWNER)
        storable_text.check(
            "The correlation_id of a sink", sink.correlation_id, LONGEST_CORRELATION
        )
    twice = [address for address, times in _places(sinks).items() if times > 1]
    if twice:
        raise ValueError(f"sinks must name each address once, got {twice[0][1]!r} more often.")


def _places(sinks: Sequence[NewSink]) -> Counter[tuple[str, str]]:
    return Counter((sink.kind, sink.address) for sink in sinks)
