"""Instants as text: for journals and faults, and for people."""

from datetime import datetime

import msgspec
from django.utils import timezone

_encode = msgspec.json.Encoder().encode


def text_of(at: datetime) -> str:
    """Return an instant as ``datetime.isoformat`` does, in a quarter of the time.

    The instant is aware, and its zone whole minutes from UTC.
    """
    quoted = _encode(at).decode()
    return f"{quoted[1:-2]}+00:00" if quoted[-2] == "Z" else quoted[1:-1]


def moment(at: datetime, now: datetime) -> str:
    """Return an instant for people, with its time zone, and its date unless that is today."""
    local = timezone.localtime(at)
    is_today = local.date() == timezone.localtime(now).date()
    return local.strftime("%H:%M:%S %Z" if is_today else "%Y-%m-%d %H:%M:%S %Z")


def full(at: datetime) -> str:
    """Return an instant for people: date, time of day and time zone."""
    return timezone.localtime(at).strftime("%Y-%m-%d %H:%M:%S %Z")


def short(at: datetime, now: datetime, *, with_tenths: bool = False) -> str:
    """Return a short form of an instant, for places that show the time zone separately."""
    local = timezone.localtime(at)
    if local.date() != timezone.localtime(now).date():
        return local.strftime("%m-%d %H:%M")
    text = local.strftime("%H:%M:%S")
    return f"{text}.{local.microsecond // 100_000}" if with_tenths else text


def zone_at(at: datetime) -> str:
    """Return the name of the current time zone at an instant: UTC, CET, +0530."""
    return timezone.localtime(at).strftime("%Z")
