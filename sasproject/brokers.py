"""The broker connection's URL and options, by transport."""

from pathlib import Path
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from kombu.utils.url import parse_url

from sasproject.variables import refused

# Longer than the longest step (600 s) twice over: a message that is being worked on must
# not be delivered again merely because it takes long.
VISIBILITY_SECONDS = 1260
#: Schemes of a URL: the transports that are proven, and memory for trials in one process.
REDIS = ("redis", "rediss", "redis+socket", "sentinel")
SCHEMES = ("amqp", "amqps", "pyamqp", *REDIS, "filesystem", "memory")


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
    with refused("BROKER_URL", "Give one such as amqp://user:password@host:5672/vhost."):
        for one in url.split(";"):
            parse_url(one)
    if not url or scheme == "filesystem":
        return "filesystem://", _filesystem(run_dir / "broker")
    if url.startswith(("redis:", "rediss:", "redis+socket:")):
        return url, {
            "visibility_timeout": VISIBILITY_SECONDS,
            # kombu looks for abandoned messages every 10th time of every 10 s unless told.
            "unacked_restore_interval": 2,
            "unacked_restore_throttle": 1,
            "socket_timeout": 5,
            "socket_connect_timeout": 3,
            "socket_keepalive": True,
            "health_check_interval": 25,
        }
    return url, {
        "confirm_publish": True,
        "read_timeout": 10,
        "write_timeout": 10,
    }


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
