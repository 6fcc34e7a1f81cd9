"""Text of others, made visible: what steers a terminal, turns writing round or hides."""

import json
import re
from functools import cache

#: Control characters; and what only turns, hides or joins: the marks and overrides of direction,
#: blanks without width, fillers that look like nothing, tags, halves of characters.
_UNSEEN = (
    "\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f"
    "\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e007f\ud800-\udfff"
)
#: Persian, Indic scripts and emoji are joined by these; next to ASCII they only hide.
_JOINER = "[\u200c\u200d]"


@cache
def unseen(keep: str = "") -> re.Pattern[str]:
    """Return the pattern of such a character, but for those in ``keep``."""
    kept = f"(?![{re.escape(keep)}])" if keep else ""
    is_alone = rf"(?<![^\x00-\x7f]){_JOINER}|{_JOINER}(?![^\x00-\x7f])"
    return re.compile(f"{kept}[{_UNSEEN}]|{is_alone}")


def visible(text: str, *, keep: str = "") -> str:
    """Return a text with each such character as JSON escapes it, but for those in ``keep``.

    Letters of every script stay what they are, those written from right to left, too.
    """
    return unseen(keep).sub(escaped, text)


def escaped(found: re.Match[str]) -> str:
    """Return a character as JSON escapes it; JSON itself leaves one of these alone."""
    return "\\u007f" if found[0] == "\x7f" else json.dumps(found[0])[1:-1]
