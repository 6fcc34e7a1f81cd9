"""The preferences of the admin's users."""

from dataclasses import dataclass
from zoneinfo import available_timezones

from workers.desk.models import Preferences
from workers.exceptions import StateError
from workers.runtime.failpoints import durable
from workers.store.db import dialect


def set_time_zone(user_id: int, name: str) -> None:
    """Show times to a user in this time zone; empty: in that of the installation.

    Raises ``StateError``, and changes nothing, for a name that is no time zone.
    """
    if name and name not in available_timezones():
        raise StateError(f"A time zone must be a name such as Europe/Paris, got {name!r}.")
    with durable("preferences.set_time_zone"):
        dialect.execute(
            "INSERT INTO desk_preferences (user_id, time_zone) VALUES (%s, %s)"
            " ON CONFLICT (user_id) DO UPDATE SET time_zone = excluded.time_zone",
            [user_id, name],
        )


def set_keys(user_id: int, *, is_on: bool) -> None:
    """Switch the keyboard shortcuts of lists on or off for a user."""
    with durable("preferences.set_keys"):
        dialect.execute(
            "INSERT INTO desk_preferences (user_id, has_no_keys) VALUES (%s, %s)"
            " ON CONFLICT (user_id) DO UPDATE SET has_no_keys = excluded.has_no_keys",
            [user_id, not is_on],
        )


@dataclass(frozen=True, slots=True)
class UserPreferences:
    """A user's preferences; the defaults are those of the installation."""

    #: Name of a time zone; empty: that of the installation.
    time_zone: str = ""
    has_keys: bool = True


def of_user(user_id: int) -> UserPreferences:
    """Return a user's preferences."""
    row = Preferences.objects.filter(user=user_id).first()
    return UserPreferences() if row is None else UserPreferences(row.time_zone, not row.has_no_keys)
