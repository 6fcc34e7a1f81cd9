"""External addresses: the monitor that watches an installation."""

from collections.abc import Sequence
from typing import Any

from django.core.checks import CheckMessage, Error

from workers.checks.asked_for import is_asked_for
from workers.conf import BadSetting, sas
from workers.http import ssrf_guard


def check_ping_url(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Refuse a ping URL that would never be called, so that the monitor would prove nothing."""
    # It looks up a host: workers must not wait for that.
    if not is_asked_for():
        return []
    try:
        problem = ssrf_guard.problem_of_url(sas.ping_url) if sas.ping_url else None
    except BadSetting:
        # workers.E001 reports it.
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
