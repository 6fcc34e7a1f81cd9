"""A project that had a Celery app before it had the engine."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "acme.settings")
app = Celery("acme")
app.config_from_object("django.conf:settings", namespace="CELERY")
if not os.environ.get("ACME_FORGETS"):
    from workers.celery import install

    install(app)
app.autodiscover_tasks()
