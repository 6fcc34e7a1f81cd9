"""Why something could not be delivered: a code with its parameters, and the text of each.

The code and the parameters are stored; the text is made at reading, in the reader's language.
"""

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext_lazy as _

TEXTS: Mapping[str, Any] = {
    "answered": _("answered %(status)s"),
    "redirected": _("answered %(status)s: redirects are not followed"),
    "late": _("no answer in time"),
    "unreached": _("not reached: %(error)s"),
    "failed": _("failed (%(error)s)"),
    "url_unreadable": _("its URL cannot be read"),
    "url_plain": _("its URL does not begin with https://"),
    "mail_answered": _("the mail server answered %(status)s"),
    "mail_failed": _("the mail server failed (%(error)s)"),
    "unwritable": _("it cannot be written"),
    "unsigned": _("it cannot be signed: %(error)s"),
    "no_secret": _("there is no secret to sign with"),
    "no_queue": _("there is no such queue"),
    "queue_refused": _("the broker refused it: is the queue full?"),
}


def text_of(code: str, params: Mapping[str, Any]) -> str:
    """Return a problem in words; one without a code of its own brings its text."""
    template = TEXTS.get(code)
    if template is None:
        return str(params.get("text", code))
    return str(template % dict(params))


def last_failure(problem: Mapping[str, Any] | None, text: str) -> str:
    """Return in words why a sink could last not be told; ``text`` comes from older versions."""
    return text or (text_of(problem["code"], problem["params"]) if problem else "")


def answer_text(problem: Mapping[str, Any] | None, status: int | None, answer: str) -> str:
    """Return in words how the last delivery went: its problem, status and answer."""
    text = text_of(problem["code"], problem["params"]) if problem else ""
    text = ": ".join(filter(None, (text, answer)))
    values = str(status or "")
    return text if values in text else f"{values} {text}".strip()
