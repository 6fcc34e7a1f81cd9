"""Where to look at a running demo, and as whom."""

from django.conf import settings

from sasproject.stack.assembly import Stack


def of(stack: Stack) -> dict[str, str]:
    """Return what to open in a browser, by what it is."""
    # Where others are answered nobody gets an account whose password is its name.
    logins = "   operator / operator, viewer / viewer" if settings.DEMO_LOGINS else ""
    return {
        "Shop": f"{stack.web_url}/",
        "Admin": f"{stack.web_url}/admin/{logins}",
        "Services": f"{stack.sandbox_url}/",
    }
