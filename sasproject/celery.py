"""The Celery app: `celery -A sasproject worker` and `celery -A sasproject beat`."""

import logging
import os
from typing import Any

from celery import Celery
from celery.signals import worker_ready

from workers.celery import install

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "sasproject.settings")
# Celery's own run of the system checks would load every page, and ignore their errors.
os.environ.setdefault("CELERY_SKIP_CHECKS", "1")

app = Celery("sasproject")
app.config_from_object("django.conf:settings", namespace="CELERY")
install(app)
app.autodiscover_tasks()


@worker_ready.connect
def _say_ready(sender: Any, **kwargs: object) -> None:
    """Log readiness once at SAS_LOG_LEVEL: Celery's own default level would suppress it."""
    queues = sorted(queue.name for queue in sender.task_consumer.queues)
    extra = {"worker": sender.hostname, "queues": queues}
    logging.getLogger("sasproject.ready").info("worker_ready", extra=extra)
