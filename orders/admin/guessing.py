"""Failed logins beyond those of one name from one address: many names, and many addresses."""

from typing import Any

from axes.handlers.database import AxesDatabaseHandler
from axes.helpers import get_client_username, get_cool_off
from axes.models import AccessAttempt
from django.conf import settings
from django.db.models import QuerySet, Sum
from django.http import HttpRequest
from django.utils import timezone

from workers import raise_alert

#: Failures from one address, whatever the names, that count like one under one name. A name has
#: its address's limit, so whoever tries many names is stopped, and one person's slips are not.
NAMES_PER_ADDRESS = 5
#: Failures under one name, from wherever, at which operators are told. It locks nobody: whoever
#: knows a name could lock its owner out.
ALERT_FAILURES = 50


class Handler(AxesDatabaseHandler):  # type: ignore[misc]
    """Counts by name and address as axes does, and by address alone; tells of guessed names."""

    def get_failures(self, request: HttpRequest, credentials: dict[str, Any] | None = None) -> int:
        """Return how many failures count; ``AXES_FAILURE_LIMIT`` of them are too many."""
        of_name: int = super().get_failures(request, credentials)
        address = request.axes_ip_address  # type: ignore[attr-defined]
        # A visitor without one, by a socket, is everybody.
        of_address = _failures(ip_address=address) // NAMES_PER_ADDRESS if address else 0
        request.is_address_locked = of_address >= settings.AXES_FAILURE_LIMIT  # type: ignore[attr-defined]
        return max(of_name, of_address)

    def user_login_failed(
        self,
        sender: Any,
        credentials: dict[str, Any],
        request: HttpRequest | None = None,
        **kwargs: Any,
    ) -> None:
        super().user_login_failed(sender, credentials, request, **kwargs)
        name = get_client_username(request, credentials)
        # Also of a name that nobody has: the time it takes must not tell which are somebody's.
        if name and _failures(username=name) >= ALERT_FAILURES:
            raise_alert(
                "password_guessing",
                params={"name": name[:100]},
                subject=name[:100],
            )


def _failures(**of: str) -> int:
    recent: QuerySet[AccessAttempt] = AccessAttempt.objects.filter(
        attempt_time__gte=timezone.now() - get_cool_off(), **of
    )
    return recent.aggregate(found=Sum("failures_since_start"))["found"] or 0
