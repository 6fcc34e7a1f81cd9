"""Texts of strangers: composed, visible, and without characters that change the direction."""

import re
import unicodedata

from django.core.exceptions import ValidationError
from django.core.validators import EmailValidator
from django.utils.translation import gettext_lazy as _

# Parts of a character class, also for patterns in the API's description.
#: Control characters, including those that change the direction of text.
CONTROL = r"\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069"
#: Invisible characters besides spaces.
UNSEEN = (
    r"\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2060-\u2065"
    r"\u206a-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0"
)
CONTROL_CHARACTERS = re.compile(f"[{CONTROL}]")
VISIBLE = re.compile(rf"[^\s{UNSEEN}{CONTROL}]")
#: Full-width letters and signs of East Asian keyboards -> the plain ones.
FULL_WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
#: Without localhost, which no mail reaches.
_is_email = EmailValidator(allowlist=[])


def composed(text: str) -> str:
    """Return a text in NFC, so that texts that look the same are equal."""
    normal = unicodedata.normalize("NFC", text)
    # Unchanged if NFC is longer: the length was checked already.
    return normal if len(normal) <= len(text) else text


def is_visible(text: str) -> bool:
    """Say whether a text has any visible character."""
    return VISIBLE.search(text) is not None


def email(text: str) -> str:
    """Return the mail address to send to; raise ``ValidationError`` with what is wrong."""
    # Any other look-alike is a different address.
    address = text.translate(FULL_WIDTH).strip()
    name, at, _domain = address.rpartition("@")
    if at and name and not name.isascii():
        raise ValidationError(
            _(
                "The part before the @ must be of letters without accents (a to z), digits and"
                " signs: mail to “%(name)s” would not arrive. Enter another address."
            ),
            code="not_ascii",
            params={"name": name},
        )
    _is_email(address)
    return address
