"""What a process must be like to be accepted: asked before anything is written."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime

from workers.exceptions import BadText, MessageError
from workers.protocol.messages import check_limits
from workers.rules.rows import NewProcess, NewSink
from workers.runtime import storable_text
from workers.runtime.json_text import encode_document

#: What the columns hold.
LONGEST_SUBJECT = 200
LONGEST_ADDRESS, LONGEST_OWNER, LONGEST_CORRELATION = 500, 100, 200
#: More levels would put a process before the earliest instant that ``datetime`` has.
HIGHEST_PRIORITY = 100
SINK_KINDS = ("queue", "webhook")


def check(wanted: NewProcess) -> None:
    """Raise for what no column holds: ``BadText``, else ``ValueError`` or ``TypeError``."""
    _check_subject(wanted.subject)
    storable_text.check("lane", wanted.lane)
    _check_priority(wanted.priority)
    _check_deadline(wanted.deadline_at)
    _check_input(wanted.input)
    _check_sinks(wanted.told)


def _check_subject(subject: str) -> None:
    storable_text.check("subject", subject, LONGEST_SUBJECT)
    # It heads every page and message about the process.
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
    if deadline_at is not None and deadline_at.tzinfo is None:
        raise ValueError(
            f"deadline_at must be an instant with a time zone, got {deadline_at!r}. Make it aware."
        )


def check_deadlines(wanted: Sequence[NewProcess], now: datetime) -> None:
    """Raise ``ValueError`` for a deadline that has passed: the process could only be undone."""
    for one in wanted:
        if one.deadline_at is not None and one.deadline_at <= now:
            raise ValueError(
                f"deadline_at of {one.subject!r} must lie ahead, got {one.deadline_at.isoformat()},"
                f" and it is {now.isoformat(timespec='seconds')}. Give it a later one or none."
            )


def _check_input(document: object) -> None:
    # What is edited, masked and described are its members, and a column holds no None.
    if not isinstance(document, dict):
        raise TypeError(f"input must be a dict, got {type(document).__name__}. Put it into one.")
    try:
        text = encode_document(document)
    except RecursionError:
        raise ValueError("input is nested too deep to be JSON. Flatten it.") from None
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(
            f"input must be JSON, got a value that JSON does not have: {error}. Pass text or None."
        ) from None
    try:
        check_limits(document, text, "input")
    except MessageError as error:
        raise ValueError(str(error)) from None
    # Escaped by the encoder, so that most inputs are not walked through a second time.
    if "\\u0000" in text or "\\ud" in text:
        storable_text.check_value("input", document)


def _check_sinks(sinks: Sequence[NewSink]) -> None:
    for sink in sinks:
        if sink.kind not in SINK_KINDS:
            raise ValueError(
                f"The kind of a sink must be {' or '.join(SINK_KINDS)}, got {sink.kind!r}."
            )
        storable_text.check("The address of a sink", sink.address, LONGEST_ADDRESS)
        storable_text.check("The owner of a sink", sink.owner, LONGEST_OWNER)
        storable_text.check(
            "The correlation_id of a sink", sink.correlation_id, LONGEST_CORRELATION
        )
    twice = [place for place, times in _places(sinks).items() if times > 1]
    if twice:
        raise ValueError(f"sinks must name each address once, got {twice[0][1]!r} more often.")


def _places(sinks: Sequence[NewSink]) -> Counter[tuple[str, str]]:
    return Counter((sink.kind, sink.address) for sink in sinks)
