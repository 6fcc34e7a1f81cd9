"""Say whether something names a mail address: the whole of it, in whatever form.  Pure."""

import json
import re
import unicodedata
from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote, unquote_plus

#: The most characters of an address, and of a text that may be one and nothing else.
LONGEST = 320
_DOMAIN = re.compile(r"[\w-]+(?:\.[\w-]+)*|\[[^\]\s]{1,60}\]")
#: An address and nothing else.
_ALONE = re.compile(rf"""(?:"[^"\r\n]+"|(?!\.)[\w.!#$%&'*+/=?^`{{|}}~-]+)@(?:{_DOMAIN.pattern})""")
#: The end of what stands before an address that is the end of a longer one.  ``= & ? / |`` more
#: often stand before an address than in one, as in a URL.
_LONGER = re.compile(r"\w[.!#$%'*+^`{}~-]*\Z")
#: A character as JSON escapes it.
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|([\"/\\]))")


def names(email: str, *values: Any) -> bool:
    """Say whether any of ``values`` has exactly this address: ``ann@x.org`` is not ``joann@x.org``.

    Values are texts, bytes in any encoding of JSON or in base64, and documents of these.  Case,
    full width, composed accents and the ASCII form of a domain make no difference;
    ``ann+shop@x.org`` is another address.
    """
    wanted = _parts(email)
    return any(_has(reading, *wanted) for value in values for reading in _readings(value))


def canonical(email: str) -> str:
    """Return the one form of an address: two that are the same person's have the same."""
    return "".join(_parts(email))


def _parts(email: str) -> tuple[str, str]:
    name, _at, domain = _plain(email).rpartition("@")
    return f"{name}@", _in_ascii(domain)


def needle(email: str) -> str:
    """Return a part of an address that is the same in every form of it, to look for in a table."""
    runs = re.findall("[a-z0-9]+", _plain(email).rpartition("@")[0])
    return max(runs, key=len, default="") or "@"


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text.strip()).lower()


def _in_ascii(domain: str) -> str:
    return ".".join(
        label if label.isascii() else f"xn--{label.encode('punycode').decode()}"
        for label in domain.split(".")
    )


def _readings(value: Any) -> Iterator[str]:
    """Yield the texts of a value, each as it is and as what wrote it may have escaped it."""
    match value:
        case dict():
            for key, item in value.items():
                yield from _readings(str(key))
                yield from _readings(item)
        case list() | tuple():
            for item in value:
                yield from _readings(item)
        case memoryview():
            yield from _readings(bytes(value))
        case bytes():
            yield from _readings(value.decode(json.detect_encoding(value), "replace"))
            try:
                inner = b64decode(b"".join(value.split()), validate=True)
            except NotBase64:
                return
            yield from _readings(inner.decode(json.detect_encoding(inner), "replace"))
        case str():
            yield value
            if "\\" in value:
                yield _ESCAPE.sub(lambda match: match[2] or chr(int(match[1], 16)), value)
            if "%" in value:
                # Part of a URL, and so behind a sign that is not its own.
                yield from (f"<{unquote(value)}", f"<{unquote_plus(value)}")


def _has(text: str, name: str, domain: str) -> bool:
    """Look for one address only: a stranger's text may be long, and made to be slow."""
    text = _plain(text)
    is_alone = len(text) <= LONGEST and _ALONE.fullmatch(text) is not None
    at = text.find(name)
    while at >= 0:
        rest = _DOMAIN.match(text, at + len(name))
        if (
            rest is not None
            and len(rest[0]) <= LONGEST
            and _in_ascii(rest[0].rstrip("-_")) == domain
            and not (at if is_alone else _LONGER.search(text[max(0, at - LONGEST) : at]))
        ):
            return True
        at = text.find(name, at + 1)
    return False
