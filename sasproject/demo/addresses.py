"""The addresses and logins of a running demo."""

from django.conf import settings

from sasproject.stack.assembly import Stack


def of(stack: Stack) -> dict[str, str]:
    """Return the addresses to open in a browser, by label."""
    # Accounts with well-known passwords exist only if no other machine is served.
    logins = "   operator / operator, viewer / viewer" if settings.DEMO_LOGINS else ""
    return {
        "Shop": f"{stack.web_url}/",
        "Admin": f"{stack.web_url}/admin/{logins}",
        "Services": f"{stack.sandbox_url}/",
    }
