"""What users of the admin have chosen for themselves."""

from zoneinfo import available_timezones

from workers.exceptions import StateError
from workers.models import Preferences
from workers.runtime.failpoints import durable
from workers.store.db import dialect


def set_time_zone(user_id: int, name: str) -> None:
    """Have times shown to a user in this time zone; empty: in that of the installation.

    Raises ``StateError``, and changes nothing, for a name that is no time zone.
    """
    if name and name not in available_timezones():
        raise StateError(f"A time zone must be a name such as Europe/Paris, got {name!r}.")
    with durable("preferences.set_time_zone"):
        dialect.execute(
            "INSERT INTO workers_preferences (user_id, time_zone) VALUES (%s, %s)"
            " ON CONFLICT (user_id) DO UPDATE SET time_zone = excluded.time_zone",
            [user_id, name],
        )


def time_zone(user_id: int) -> str:
    """Return the name of the time zone that a user has chosen; empty: none."""
    chosen = Preferences.objects.filter(user=user_id).values_list("time_zone", flat=True)
    return chosen.first() or ""
