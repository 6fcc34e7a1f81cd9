"""The rules of a valid route: checked by the admin and by the terminal."""

import base64
import binascii
import secrets
from zoneinfo import ZoneInfo

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.utils.translation import gettext as _

from workers.desk.models import Route
from workers.desk.models.route import RouteKind
from workers.http import ssrf_guard
from workers.protocol.webhook_signing import PREFIX

PAGERDUTY_URL = "https://events.pagerduty.com/v2/enqueue"
#: The shortest secret that Standard Webhooks allows.
LEAST_SECRET_BYTES = 24


def fill_in(route: Route) -> str:
    """Fill in a route's default address or a new secret; return that secret, or an empty text."""
    if route.kind == RouteKind.PAGERDUTY and not route.address:
        route.address = PAGERDUTY_URL
    if route.kind == RouteKind.WEBHOOK and not route.secret:
        route.secret = PREFIX + base64.b64encode(secrets.token_bytes(32)).decode()
        return route.secret
    return ""


def problems(route: Route) -> dict[str, str]:
    """Return what is wrong with a route, by field; empty: it is valid.

    Looks up the host of a URL, for two seconds at most.
    """
    checks = {
        "address": _address_problem(route),
        "secret": _secret_problem(route),
        "time_zone": _time_zone_problem(route.time_zone),
        "quiet_to": _quiet_hours_problem(route),
        "digest_seconds": _digest_problem(route),
    }
    return {name: problem for name, problem in checks.items() if problem}


def _address_problem(route: Route) -> str:
    if route.kind != RouteKind.MAIL:
        problem = ssrf_guard.problem_of_url(route.address)
        return _("The URL %(problem)s.") % {"problem": problem} if problem else ""
    parts = [part.strip() for part in route.address.split(",") if part.strip()]
    if not parts:
        return _("Enter a mail address, or several with commas between them.")
    for part in parts:
        try:
            validate_email(part)
        except ValidationError:
            return _("%(address)s is no mail address.") % {"address": part}
    return ""


def _secret_problem(route: Route) -> str:
    if route.kind == RouteKind.PAGERDUTY and not route.secret:
        return _("Enter the integration key of the PagerDuty service.")
    if route.kind != RouteKind.WEBHOOK:
        return ""
    try:
        key = base64.b64decode(route.secret.removeprefix(PREFIX), validate=True)
    except binascii.Error:
        key = b""
    if len(key) >= LEAST_SECRET_BYTES:
        return ""
    return _("The secret must be whsec_ and %(n)d bytes or more in base64.") % {
        "n": LEAST_SECRET_BYTES
    }


def _time_zone_problem(name: str) -> str:
    try:
        ZoneInfo(name)
    except (ValueError, OSError, LookupError):
        return _("%(name)s is no time zone. Enter one such as Europe/Paris.") % {"name": name}
    return ""


def _quiet_hours_problem(route: Route) -> str:
    if (route.quiet_from is None) == (route.quiet_to is None):
        return ""
    return _("Quiet hours have a beginning and an end, or neither.")


def _digest_problem(route: Route) -> str:
    if route.kind == RouteKind.PAGERDUTY and route.digest_seconds:
        return _("PagerDuty gathers by itself: enter 0.")
    return ""
