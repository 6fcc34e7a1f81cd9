"""Operators' settings of one key of an agent: its window, its rate."""

from datetime import datetime
from typing import Any

from workers.definitions import attributes, per_key, registry
from workers.exceptions import StateError
from workers.models import LimitedKey
from workers.rules import limit_keys
from workers.rules.attributes import personal
from workers.rules.masks import STARS
from workers.rules.rows import Entry
from workers.runtime import storable_text
from workers.runtime.failpoints import durable
from workers.store import journal, key_places
from workers.store.db import dialect
from workers.store.flow.flow_settings import checked

#: The settings; None of each: as the code says.
LIMITS = ("window", "rate_per_second")


def set_key(
    agent: str,
    value: str,
    changes: dict[str, Any],
    *,
    actor: str,
    reason: str,
    now: datetime | None = None,
) -> dict[str, list[Any]]:
    """Set limits (``LIMITS``) of the key that a value of an attribute is; return what changed.

    Takes effect at the next claim; a window of 0 holds the key, whose calls under way go on.
    Raises ``StateError``, changing nothing, for an agent that limits no key and an invalid value.
    """
    storable_text.check_all(actor=actor, reason=reason)
    key, attribute = _key(agent, value)
    values = {name: _checked(name, value) for name, value in changes.items()}
    with durable("key_settings.set_key"):
        flow = dialect.fetch(
            "SELECT 1 FROM workers_flow f WHERE f.agent = %s " + dialect.lock_rows("f"), [agent]
        )
        if not flow:
            raise StateError(f"There is no flow row of an agent {agent!r}.")
        row, _ = LimitedKey.objects.get_or_create(key=key, defaults={"agent": agent})
        diff = {
            name: [getattr(row, name), value]
            for name, value in values.items()
            if getattr(row, name) != value
        }
        LimitedKey.objects.filter(pk=key).update(**{name: new for name, (_, new) in diff.items()})
        at = dialect.read_clock(now)
        if diff:
            shown = STARS if attribute in personal(registry.workflows()) else value
            detail = {"agent": agent, "key": f"{attribute}={shown}", "reason": reason}
            entry = Entry(None, "flow_set", actor, detail={**detail, "changes": diff})
            journal.write([entry], at)
        # One that never spent a token rests.
        LimitedKey.objects.filter(pk=key, window=None, rate_per_second=None, full_at=None).delete()
        key_places.unblock({key: agent})
    return diff


def _key(agent: str, value: str) -> tuple[str, str]:
    """Return the key of a value that somebody typed, and the attribute."""
    limits = per_key.of(agent)
    if limits is None:
        raise StateError(
            f"An agent with per_key must be named, got {agent!r}. `sas flow show` lists agents."
        )
    try:
        text = attributes.typed(registry.attributes(), limits.attribute, value)
    except ValueError as error:
        raise StateError(str(error)) from None
    key = limit_keys.of_agent(agent, limits.attribute, {limits.attribute: text})
    assert key is not None
    return key, limits.attribute


def _checked(name: str, value: Any) -> Any:
    if name not in LIMITS:
        raise StateError(f"A limit of a key must be one of {', '.join(LIMITS)}, got {name!r}.")
    return None if value is None else checked(name, value)


def shown(row: LimitedKey) -> str:
    """Return a key for people: its value masked, if that is personal."""
    attribute, _, value = row.key.removeprefix(f"agent:{row.agent}:").partition("=")
    return f"{attribute}={STARS if attribute in personal(registry.workflows()) else value}"
