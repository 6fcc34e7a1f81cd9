"""The broker connection's URL and options, by transport."""

from pathlib import Path
from typing import Any

from django.core.exceptions import ImproperlyConfigured

from workers.celery.conf import AMQP, REDIS, transport_options

#: Schemes of a URL: the transports that are proven, and memory for trials in one process.
SCHEMES = (*AMQP, *REDIS, "filesystem", "memory")


def configure(url: str, run_dir: Path) -> tuple[str, dict[str, Any]]:
    """Return the broker URL and kombu's transport options for it.

    Without a URL: kombu's filesystem transport in the run folder.  It loses what a killed
    worker had taken, which costs one attempt of a step and never an order.
    """
    scheme = url.partition("://")[0]
    if url and scheme not in SCHEMES:
        raise ImproperlyConfigured(
            f"BROKER_URL must begin with {', '.join(f'{name}://' for name in SCHEMES)}. "
            "Give one such as amqp://user:password@host:5672/vhost."
        )
    if not url or scheme == "filesystem":
        return "filesystem://", _filesystem(run_dir / "broker")
    return url, transport_options(scheme)


def _filesystem(folder: Path) -> dict[str, Any]:
    messages, control = folder / "messages", folder / "control"
    for path in (messages, control):
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return {
        "data_folder_in": str(messages),
        "data_folder_out": str(messages),
        "control_folder": str(control),
        "polling_interval": 0.05,
    }
