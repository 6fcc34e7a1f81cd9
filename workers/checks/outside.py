"""Addresses outside that operators are watched and told from."""

from collections.abc import Sequence
from typing import Any

from django.core.checks import CheckMessage, Error

from workers.checks.in_flight import is_asked_for
from workers.conf import BadSetting, sas
from workers.http import ssrf_guard


def check_ping_url(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Refuse a ping that would never be made, so that silence would be no news."""
    # It looks up a host, which no worker should wait for.
    if not is_asked_for():
        return []
    try:
        problem = ssrf_guard.problem_of_url(sas.ping_url) if sas.ping_url else None
    except BadSetting:
        # workers.E001 says so.
        return []
    if problem is None:
        return []
    return [
        Error(
            f"SAS_PING_URL {problem}.",
            hint="Give the https URL of a monitor outside, or set SAS_WEBHOOK_PRIVATE_ADDRESSES=on"
            " for one in your own network.",
            id="workers.E025",
        )
    ]
