"""The stack's database and broker: their names, and a check of the broker before the start."""

from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from kombu import Connection

from sasproject.stack.exceptions import StackError
from workers.celery import broker_login
from workers.exceptions import first_line

BROKER_PATIENCE = 5


def database_name() -> str:
    """Name the database without its credentials."""
    config: dict[str, Any] = settings.DATABASES["default"]
    vendor = str(config["ENGINE"]).rsplit(".", 1)[-1]
    if vendor == "sqlite3":
        return f"SQLite ({config['NAME']})"
    place = ":".join(str(config[key]) for key in ("HOST", "PORT") if config.get(key))
    return f"{vendor} {config['NAME']}" + (f" at {place}" if place else "")


def broker_name(url: str) -> str:
    """Name the broker without its credentials."""
    return ", ".join(_without_credentials(part) for part in url.split(";"))


def _without_credentials(url: str) -> str:
    scheme = url.partition("://")[0]
    try:
        parts = urlsplit(url)
        place = parts.hostname or parts.path
        return f"{scheme}://{place}" + (f":{parts.port}" if parts.port else "")
    except ValueError:  # an unusual password: rather print too little
        return scheme


def check_broker() -> None:
    """Raise ``StackError`` if the configured broker does not answer."""
    url = settings.CELERY_BROKER_URL
    connection = Connection(
        url,
        connect_timeout=settings.CELERY_BROKER_CONNECTION_TIMEOUT,
        transport_options=settings.CELERY_BROKER_TRANSPORT_OPTIONS,
    )
    try:
        with connection:
            connection.ensure_connection(max_retries=2, interval_start=1, timeout=BROKER_PATIENCE)
    except Exception as error:
        if refusal := broker_login.refusal(error):
            raise StackError(refusal) from error
        raise StackError(
            f"The broker at {broker_name(url)} does not answer ({first_line(error)}). Start it, "
            "correct BROKER_URL, or unset BROKER_URL to use a private one."
        ) from error
