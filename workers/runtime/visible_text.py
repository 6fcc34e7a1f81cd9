"""Make invisible characters in foreign text visible: control, direction and hidden ones."""

import json
import re
from functools import cache

#: Control characters, and those that only change direction, hide or join: direction marks and
#: overrides, zero-width blanks, invisible fillers, tags, surrogates.
_UNSEEN = (
    "\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f"
    "\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e007f\ud800-\udfff"
)
#: Joiners of Persian, Indic scripts and emoji; next to ASCII they only hide.
_JOINER = "[\u200c\u200d]"


@cache
def unseen(keep: str = "") -> re.Pattern[str]:
    """Return a pattern that matches such a character, except those in ``keep``."""
    exceptions = f"(?![{re.escape(keep)}])" if keep else ""
    is_alone = rf"(?<![^\x00-\x7f]){_JOINER}|{_JOINER}(?![^\x00-\x7f])"
    return re.compile(f"{exceptions}[{_UNSEEN}]|{is_alone}")


def visible(text: str, *, keep: str = "") -> str:
    """Return a text with each such character escaped as in JSON, except those in ``keep``.

    Letters of every script stay unchanged, including right-to-left ones.
    """
    return unseen(keep).sub(escaped, text)


def escaped(match: re.Match[str]) -> str:
    """Return a character escaped as in JSON; DEL as well, which JSON does not escape."""
    return "\\u007f" if match[0] == "\x7f" else json.dumps(match[0])[1:-1]
