"""What is good enough for one machine and not for production: told by `check --deploy`."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Error, register

from sasproject import loopback

#: Backends that send nothing to anybody.
MAIL_TO_NOBODY = ("filebased", "console", "dummy", "locmem")
MANIFEST = "staticfiles.json"


@register(deploy=True)
def check_production(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Refuse a deployment that looks well and reaches nobody."""
    return [] if settings.IS_LOCAL else list(_found())


def _found() -> Iterable[CheckMessage]:
    if str(settings.EMAIL_BACKEND).split(".")[-2] in MAIL_TO_NOBODY:
        yield Error(
            f"Mail goes to {settings.EMAIL_BACKEND}, and reaches no customer.",
            hint="Set EMAIL_URL, such as smtp+tls://user:password@host:587.",
            id="sasproject.E001",
        )
    if _is_loopback(settings.SANDBOX_URL):
        yield Error(
            f"The services are called at {settings.SANDBOX_URL}, on this machine.",
            hint="Set SANDBOX_URL to the services' address: cards would be charged at a stand-in.",
            id="sasproject.E002",
        )
    if not (Path(settings.STATIC_ROOT) / MANIFEST).exists():
        yield Error(
            f"Static files are not collected in {settings.STATIC_ROOT}.",
            hint="Run `manage.py collectstatic --noinput` with every new version.",
            id="sasproject.E003",
        )


def _is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    return host in (*loopback.NAMES, "::1") or host.startswith("127.")
