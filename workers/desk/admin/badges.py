"""Small pieces of markup that lists and pages share: states, instants and running clocks.

``countdown.js`` keeps the clocks running; without it they stay as they were rendered.
"""

import json
import re
from datetime import datetime
from typing import Any

from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.text import Truncator
from django.utils.translation import gettext as _

from workers.desk.admin import wording
from workers.runtime import timestamps

#: SVG paths on a grid of 16 by 16, stroked and not filled.
OUTLINES: dict[str, str] = {
    "waiting": "M3.5 8h.01M8 8h.01M12.5 8h.01",
    "pending": "M8 2.5a5.5 5.5 0 1 0 0 11a5.5 5.5 0 1 0 0-11zM8 5v3.2l2 1.3",
    "processing": "M5 3.2l7.5 4.8L5 12.8z",
    "processed": "M3 8.5l3.5 3.5L13 4.5",
    "error": "M5.5 2h5L14 5.5v5L10.5 14h-5L2 10.5v-5zM8 5v3.4M8 11h.01",
    "skipped": "M3 4l4 4-4 4M8.5 4l4 4-4 4",
    "compensating": "M3.4 6.2A5 5 0 1 1 3 8.6M3 2.8v3.6h3.6",
    "compensated": "M6 3.5L2.8 6.7L6 9.9M3 6.7h6.2a3.3 3.3 0 0 1 0 6.6H6",
    "cancelled": "M8 2.5a5.5 5.5 0 1 0 0 11a5.5 5.5 0 1 0 0-11zM4.2 4.2l7.6 7.6",
    "alert": "M8 2.5l6 11H2zM8 6.8v3M8 11.7h.01",
}
#: For a state this version does not know.
UNKNOWN = "M5.8 6a2.2 2.2 0 1 1 3.2 2c-.7.4-1 .8-1 1.6M8 12.2h.01"


def outline(name: str) -> str:
    """Return the path of the shape called ``name``."""
    return OUTLINES.get(name, UNKNOWN)


def icon(name: str) -> SafeString:
    """Return the shape called ``name``; the words beside it say what it means."""
    return format_html(
        '<svg class="sas-icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false">'
        '<path d="{}"/></svg>',
        outline(name),
    )


#: Shown where there is nothing to show.
NOTHING = SafeString('<span class="sas-none">-</span>')
_CODE = re.compile(r"`([^`]+)`")
#: Where a long word may be broken.
BREAK = SafeString("<wbr>")


def state(name: str) -> SafeString:
    """Return a state as a word with its shape."""
    return format_html(
        '<span class="sas-state sas-{}">{} {}</span>', name, icon(name), wording.state(name)
    )


def labelled(name: str, value: Any) -> SafeString:
    """Return a value with its name, which is shown when the table has no head."""
    return format_html('<span class="sas-label">{} </span>{}', name, value)


def message(text: Any) -> SafeString:
    """Return a text that may be long."""
    return format_html('<span class="sas-message">{}</span>', text)


def beside(first: Any, second: Any) -> SafeString:
    """Return two values, the second one smaller."""
    return format_html('{} <span class="sas-agent">{}</span>', first, second)


def link(url: str, text: Any) -> SafeString:
    return format_html('<a href="{}">{}</a>', url, text)


def button(url: str, text: Any, title: Any) -> SafeString:
    """Return a button of the list's own form, which sends its CSRF token."""
    return format_html(
        '<button type="submit" class="sas-button" formaction="{}" aria-label="{}">{}</button>',
        url,
        title,
        text,
    )


def page_button(url: str, text: Any, about: Any) -> SafeString:
    """Return a link to the page of an act; ``about`` tells it from those of other rows."""
    return format_html(
        '<a class="sas-button" href="{}">{}<span class="visually-hidden"> {}</span></a>',
        url,
        text,
        about,
    )


def coded(text: str) -> SafeString:
    """Return a text with its backticked parts as code."""
    # Every second part stands between two backticks; an unpaired one stays as it is.
    *pairs, tail = _CODE.split(text)
    parts = ((pairs[i], pairs[i + 1]) for i in range(0, len(pairs), 2))
    return format_html("{}{}", format_html_join("", "{}<code>{}</code>", parts), tail)


def label(text: Any, shape: str, tone: str) -> SafeString:
    """Return a word that is no state, in the shape and tone of one."""
    return format_html('<span class="sas-state sas-{}">{} {}</span>', tone, icon(shape), text)


def duration(seconds: float) -> str:
    """Return a time as ``12 s``, ``2 min 05 s``, ``1 h 05 min`` or ``3 d 04 h``."""
    minutes, remainder = divmod(max(round(seconds), 0), 60)
    if not minutes:
        return f"{remainder} s"
    if minutes < 60:
        return f"{minutes} min {remainder:02} s"
    hours, minutes = divmod(minutes, 60)
    if hours < 24:
        return f"{hours} h {minutes:02} min"
    return f"{hours // 24} d {hours % 24:02} h"


def span(seconds: float) -> str:
    """Return a time in its largest unit only, as ages are shown: ``5 min``, ``3 h``."""
    whole = max(round(seconds), 0)
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if whole >= size:
            return f"{whole // size} {unit}"
    return f"{whole} s"


def instant(at: datetime | None) -> SafeString | str:
    """Return an instant with its time zone, and its date unless that is today's."""
    if at is None:
        return NOTHING
    return format_html(
        '<time datetime="{}" title="{}">{}</time>',
        at.isoformat(),
        timestamps.full(at),
        timestamps.moment(at, timezone.now()),
    )


def countdown(
    at: datetime | None,
    now: datetime,
    left: str | None = None,
    over: str | None = None,
    *,
    is_alarm: bool = False,
) -> SafeString | str:
    """Return a running countdown to ``at``; ``left`` and ``over`` are texts with a %s.

    With ``is_alarm`` it turns red once the time is over.
    """
    if at is None:
        return NOTHING
    left, over = left or _("%s left"), over or _("%s overdue")
    seconds = (at - now).total_seconds()
    text = (left if seconds > 0 else over).replace("%s", duration(abs(seconds)))
    return format_html(
        '<time class="sas-countdown{}"{} datetime="{}" title="{}" data-left="{}" data-over="{}">'
        "{}</time>",
        " sas-over" if is_alarm and seconds <= 0 else "",
        SafeString(" data-alarm") if is_alarm else "",
        at.isoformat(),
        timestamps.full(at),
        left,
        over,
        text,
    )


def age(at: datetime | None, now: datetime) -> SafeString | str:
    """Return the running time since ``at``."""
    if at is None:
        return NOTHING
    return format_html(
        '<time class="sas-age" datetime="{}" title="{}" data-age>{}</time>',
        at.isoformat(),
        timestamps.full(at),
        span((now - at).total_seconds()),
    )


def json_text(value: Any) -> str:
    """Return a value as JSON in one line."""
    return json.dumps(value, ensure_ascii=False, default=str)


def hold(kind: str, name: str) -> str:
    """Return what a hold holds, in words."""
    match kind:
        case "everything":
            return _("everything")
        case "agent":
            return _("agent %(name)s") % {"name": name}
        case "step":
            return _("steps called %(name)s") % {"name": name}
    return f"{kind} {name}"


def worker(name: str | None) -> SafeString | str:
    """Return the name of a claim's holder, with places where it may be broken."""
    if not name:
        return NOTHING
    parts = [(part,) for part in re.split(r"(?<=[@:])", name)]
    return format_html_join(BREAK, "{}", parts)


def fault_text(fault: Any) -> str:
    """Return a fault in one line; empty if there is none."""
    if not isinstance(fault, dict) or not fault:
        return ""
    code, message = fault.get("code"), fault.get("message")
    if code and str(code).replace("_", " ") in str(message):
        code = None
    text = ": ".join(str(part) for part in (code, message) if part and part != fault.get("kind"))
    kind = fault.get("kind")
    return f"{wording.fault_kind(str(kind))}: {text}" if kind and text else text or str(kind or "")


def short_fault(fault: Any) -> SafeString | str:
    """Return a fault in one short line, with the whole text as its title."""
    text = fault_text(fault)
    if not text:
        return NOTHING
    return format_html(
        '<span class="sas-fault" title="{}">{}</span>', text, Truncator(text).chars(90)
    )
