"""Names of the code that has run here, and since when."""

from datetime import datetime

from workers.runtime.failpoints import around
from workers.store.db import dialect


@around("releases.note")
def note(name: str, now: datetime | None = None) -> bool:
    """Record that code of this name runs here.  False: it was recorded already."""
    at = dialect.read_clock(now)
    return (
        dialect.execute(
            "INSERT INTO desk_release (name, seen_at) VALUES (%s, %s)"
            " ON CONFLICT (name) DO NOTHING",
            [name[:100], dialect.instant_text(at)],
        )
        == 1
    )
