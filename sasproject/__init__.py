"""Wiring only: settings, the Celery app, URLs, logging. No business logic."""

from sasproject import first_process

# Before any slow import.
first_process.end_while_it_imports()

from sasproject import refusals  # noqa: E402
from sasproject.celery import app as celery_app  # noqa: E402

__all__ = ["celery_app"]

refusals.install()
