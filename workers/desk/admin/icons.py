"""A shape for every state, so that no state is shown by its colour alone."""

from django.utils.html import format_html
from django.utils.safestring import SafeString

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
