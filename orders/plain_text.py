"""What strangers write, as we keep it: composed, visible, and in the order in which it is read."""

import re
import unicodedata

from django.core.exceptions import ValidationError
from django.core.validators import EmailValidator
from django.utils.translation import gettext_lazy as _

# As parts of a class of characters, for the patterns of the API's description, too.
#: Control characters, and those that turn the direction of what follows them.
CONTROL = r"\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069"
#: Characters that nobody sees, beside spaces.
UNSEEN = (
    r"\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2060-\u2065"
    r"\u206a-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0"
)
CONTROL_CHARACTERS = re.compile(f"[{CONTROL}]")
VISIBLE = re.compile(rf"[^\s{UNSEEN}{CONTROL}]")
#: Letters and signs as East Asian keyboards write them, and the plain ones.
FULL_WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
#: One of this machine is none that a mail reaches.
_is_email = EmailValidator(allowlist=[])


def composed(text: str) -> str:
    """Return a text in NFC: what looks the same is the same, and is found."""
    normal = unicodedata.normalize("NFC", text)
    # One that would be longer than what was measured stays as it is.
    return normal if len(normal) <= len(text) else text


def is_visible(text: str) -> bool:
    """Say whether a reader sees anything of a text."""
    return VISIBLE.search(text) is not None


def email(text: str) -> str:
    """Return a mail address as it is sent to; raise ``ValidationError`` with what is wrong."""
    # What else looks alike is somebody else's address.
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
