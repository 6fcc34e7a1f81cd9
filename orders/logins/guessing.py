"""Password guessing with many names from one address, or with one name from many addresses."""

from typing import Any

from axes.handlers.database import AxesDatabaseHandler
from axes.helpers import get_client_username, get_cool_off
from axes.models import AccessAttempt
from django.conf import settings
from django.db.models import QuerySet, Sum
from django.http import HttpRequest
from django.utils import timezone

from workers import raise_alert

#: Failures from one address, under any names, that count as one failure of a name. It stops an
#: address that tries many names, and spares people who share one and mistype.
NAMES_PER_ADDRESS = 5
#: Failures under one name, from any address, that raise an alert. They lock no account, because
#: anyone who knows a name could then lock its owner out.
ALERT_FAILURES = 50


class Handler(AxesDatabaseHandler):  # type: ignore[misc]
    """Counts failures by name and address, as axes does, and by address; alerts on guessing."""

    def get_failures(self, request: HttpRequest, credentials: dict[str, Any] | None = None) -> int:
        """Return how many failures count; ``AXES_FAILURE_LIMIT`` of them are too many."""
        by_name: int = super().get_failures(request, credentials)
        address = request.axes_ip_address  # type: ignore[attr-defined]
        # Without an address (a Unix socket) all visitors would count as one.
        by_address = _failures(ip_address=address) // NAMES_PER_ADDRESS if address else 0
        request.is_address_locked = by_address >= settings.AXES_FAILURE_LIMIT  # type: ignore[attr-defined]
        return max(by_name, by_address)

    def user_login_failed(
        self,
        sender: Any,
        credentials: dict[str, Any],
        request: HttpRequest | None = None,
        **kwargs: Any,
    ) -> None:
        super().user_login_failed(sender, credentials, request, **kwargs)
        name = get_client_username(request, credentials)
        # Names without a user, too: the time it takes must not reveal which names exist.
        if name and _failures(username=name) >= ALERT_FAILURES:
            raise_alert(
                "password_guessing",
                params={"name": name[:100]},
                subject=name[:100],
            )


def _failures(**conditions: str) -> int:
    recent: QuerySet[AccessAttempt] = AccessAttempt.objects.filter(
        attempt_time__gte=timezone.now() - get_cool_off(), **conditions
    )
    return recent.aggregate(n=Sum("failures_since_start"))["n"] or 0
