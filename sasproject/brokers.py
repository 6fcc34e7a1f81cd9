"""The broker connection's URL and options, by transport."""

from pathlib import Path
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from kombu.utils.url import parse_url

from sasproject.variables import refused
from workers.celery import filesystem_transport
from workers.celery.conf import AMQP, REDIS, transport_options

#: URL schemes of the supported transports; memory is for experiments in one process.
SCHEMES = (*AMQP, *REDIS, "filesystem", "memory")


def configure(url: str, run_dir: Path) -> tuple[str, dict[str, Any]]:
    """Return the broker URL and kombu's transport options for it.

    Without a URL: kombu's filesystem transport in the run folder.  It loses the messages that a
    killed worker had received, which costs an attempt of a step but never an order.
    """
    scheme = url.partition("://")[0]
    if url and scheme not in SCHEMES:
        raise ImproperlyConfigured(
            f"BROKER_URL must begin with {', '.join(f'{name}://' for name in SCHEMES)}. "
            "Give one such as amqp://user:password@host:5672/vhost."
        )
    with refused("BROKER_URL", "Give one such as amqp://user:password@host:5672/vhost."):
        for part in url.split(";"):
            parse_url(part)
    if not url or scheme == "filesystem":
        return "filesystem://", filesystem_transport.folders(run_dir)
    return url, transport_options(scheme)
