"""Checks for misspelled variables, and for settings unfit for production (`check --deploy`)."""

import os
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from email.utils import parseaddr
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning, register

from sasproject import loopback

#: Backends that deliver no mail.
MAIL_TO_NOBODY = ("filebased", "console", "dummy", "locmem")
MANIFEST = "staticfiles.json"
#: The DJANGO_ variables that our settings, or Django itself, read.
DJANGO_NAMES = frozenset(
    {
        *("DJANGO_DEBUG", "DJANGO_LOOPBACK_ONLY", "DJANGO_SECRET_KEY", "DJANGO_ALLOWED_HOSTS"),
        "DJANGO_SECRET_KEY_FALLBACKS",
        *("DJANGO_CSRF_TRUSTED_ORIGINS", "DJANGO_BEHIND_PROXY", "DJANGO_STATIC_ROOT"),
        *("DJANGO_SETTINGS_MODULE", "DJANGO_COLORS", "DJANGO_ALLOW_ASYNC_UNSAFE"),
        *("DJANGO_RUNSERVER_HIDE_WARNING", "DJANGO_WATCHMAN_TIMEOUT", "DJANGO_TEST_PROCESSES"),
        *("DJANGO_SUPERUSER_USERNAME", "DJANGO_SUPERUSER_PASSWORD", "DJANGO_SUPERUSER_EMAIL"),
    }
)


@register
def check_variables(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Warn of variables with almost the name of a known one; others may not be ours."""
    return [
        Warning(
            f"Nothing reads the variable {name}.",
            hint=f"Did you mean {near[0]}?",
            id="sasproject.W001",
        )
        for name in sorted(os.environ)
        if name.startswith("DJANGO_") and name not in DJANGO_NAMES
        if (near := get_close_matches(name, DJANGO_NAMES, n=1, cutoff=0.8))
    ]


@register(deploy=True)
def check_production(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Report settings that work locally and fail in production."""
    return [] if settings.IS_LOCAL else list(_deployment_problems())


def _deployment_problems() -> Iterable[CheckMessage]:
    if str(settings.EMAIL_BACKEND).split(".")[-2] in MAIL_TO_NOBODY:
        yield Error(
            f"Mail goes to {settings.EMAIL_BACKEND}, and reaches no customer.",
            hint="Set EMAIL_URL, such as smtp+tls://user:password@host:587.",
            id="sasproject.E001",
        )
    _, at, domain = parseaddr(settings.DEFAULT_FROM_EMAIL)[1].rpartition("@")
    if not at or domain == "localhost":
        yield Error(
            f"Mail is sent from {settings.DEFAULT_FROM_EMAIL!r}, which mail servers refuse.",
            hint="Set DEFAULT_FROM_EMAIL, such as shop@shop.example.org.",
            id="sasproject.E004",
        )
    if _is_loopback(settings.SANDBOX_URL):
        yield Error(
            f"The services are called at {settings.SANDBOX_URL}, on this machine.",
            hint="Set SANDBOX_URL to the services' address: cards would be charged at a stand-in.",
            id="sasproject.E002",
        )
    if _is_loopback(settings.SHOP_URL):
        yield Error(
            f"Mails to buyers link to {settings.SHOP_URL}, on their own machines.",
            hint="Set SHOP_URL to where the shop is, such as https://shop.example.org.",
            id="sasproject.E005",
        )
    if not settings.BEHIND_PROXY:
        yield Warning(
            "No proxy is configured before the web processes: 16 slow clients block one of them,"
            " /livez included, and without https every page redirects to itself.",
            hint="Put a proxy that buffers requests before them, such as deploy/nginx.conf, and set"
            " DJANGO_BEHIND_PROXY=on.",
            id="sasproject.W002",
        )
    folder = Path(settings.STATIC_ROOT)
    if not (folder / MANIFEST).exists():
        hint = "Run `manage.py collectstatic --noinput` with every new version."
        message = f"Static files are not collected in {folder}."
        if folder.is_dir() and any(folder.iterdir()):
            message = f"Static files are collected in {folder} without hashed names."
            hint = f"Collect them with the settings of production. {hint}"
        yield Error(message, hint=hint, id="sasproject.E003")


def _is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    return host in (*loopback.NAMES, "::1") or host.startswith("127.")
