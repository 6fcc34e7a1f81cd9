"""The Retry-After header of RFC 9110, section 10.2.3."""

import re
import time
from datetime import UTC
from email.utils import parsedate_to_datetime

LONGEST_RETRY_AFTER = 3600.0


def retry_after(text: str) -> float | None:
    """Read a Retry-After header: seconds or an HTTP date, an hour at most."""
    seconds = asked_seconds(text)
    return None if seconds is None else min(seconds, LONGEST_RETRY_AFTER)


def asked_seconds(text: str) -> float | None:
    """Read a Retry-After header, however long it asks for."""
    text = text.strip()
    if re.fullmatch(r"[0-9]+", text):
        return float(text)
    try:
        moment = parsedate_to_datetime(text)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        seconds_left = moment.timestamp() - time.time()
    except (ValueError, OverflowError):
        return None
    return max(seconds_left, 0.0)
