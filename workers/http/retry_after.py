"""The Retry-After header of RFC 9110, section 10.2.3."""

import re
import time
from datetime import UTC
from email.utils import parsedate_to_datetime

LONGEST_RETRY_AFTER = 3600.0


def retry_after(text: str) -> float | None:
    """Read a Retry-After header: seconds or an HTTP date, an hour at most."""
    text = text.strip()
    if re.fullmatch(r"[0-9]+", text):
        return min(float(text), LONGEST_RETRY_AFTER)
    try:
        moment = parsedate_to_datetime(text)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        seconds_left = moment.timestamp() - time.time()
    except (ValueError, OverflowError):
        return None
    return min(max(seconds_left, 0.0), LONGEST_RETRY_AFTER)
