"""Celery settings for which the engine has its own defaults."""

import os
from pathlib import Path
from typing import Any

from django.conf import settings

from workers.celery import filesystem_transport

#: More than twice the longest step (600 s): a message must not be delivered again while it is
#: worked on.
VISIBILITY_SECONDS = 1260
DATABASE_SCHEDULER = "django_celery_beat.schedulers:DatabaseScheduler"
#: By Celery's names; "Install the engine into your project" in the documentation has the reasons.
VALUES: dict[str, Any] = {
    # Celery's own, except that a child that dies idle does not stop the others.
    "worker_pool": "workers.celery.prefork:TaskPool",
    "worker_prefetch_multiplier": 1,
    # Time until a child's death is reported; the rows show whether it had replied.
    "worker_lost_wait": 2.0,
    # A short outage of the broker is no failure: a second delivery finds its claims started.
    "worker_cancel_long_running_tasks_on_connection_loss": False,
    "broker_connection_timeout": 3,
    "broker_pool_acquire_timeout": 5,
    "broker_heartbeat": 30,
    "broker_connection_retry_on_startup": True,
    "broker_connection_max_retries": None,
    "beat_scheduler": DATABASE_SCHEDULER,
    # Each look at its rows is a statement; the sweep is due every two seconds.
    "beat_max_loop_interval": 2,
}
REDIS = ("redis", "rediss", "redis+socket", "sentinel")
AMQP = ("amqp", "amqps", "pyamqp")


def fill_in(sender: Any, source: Any, **kwargs: object) -> None:
    """Receive ``on_after_configure``: fill in the settings that the project leaves out.

    The transport options are filled in one by one.
    """
    for name, value in VALUES.items():
        if not _is_set(source, sender.namespace, name):
            source[name] = value
    scheme = str(source.broker_url or "amqp://").partition(":")[0]
    options = source.broker_transport_options or {}
    if scheme == "filesystem" and "data_folder_in" not in options:
        options = {**filesystem_transport.folders(_run_folder()), **options}
    source["broker_transport_options"] = {**transport_options(scheme), **options}


def _is_set(conf: Any, namespace: str | None, name: str) -> bool:
    # Celery before 5.6 does not find a setting in a namespace by its plain name.
    return conf.value_set_for(name) or (
        bool(namespace) and conf.value_set_for(f"{namespace}_{name.upper()}")
    )


def _run_folder() -> Path:
    return Path(os.environ.get("SAS_RUN_DIR") or Path(getattr(settings, "BASE_DIR", "."), ".run"))


def transport_options(scheme: str) -> dict[str, Any]:
    """Return kombu's options with which a broker loses no message and blocks no process."""
    if scheme in AMQP:
        return {"confirm_publish": True, "read_timeout": 10, "write_timeout": 10}
    if scheme in REDIS:
        return {
            "visibility_timeout": VISIBILITY_SECONDS,
            # kombu's default looks for abandoned messages on every 10th of its rounds of 10 s.
            "unacked_restore_interval": 2,
            "unacked_restore_throttle": 1,
            "socket_timeout": 5,
            "socket_connect_timeout": 3,
            "socket_keepalive": True,
            "health_check_interval": 25,
        }
    return {}
