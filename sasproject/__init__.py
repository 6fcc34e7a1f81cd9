"""Wiring only: settings, the Celery app, URLs, logging. No behaviour lives here."""

from sasproject import refusals
from sasproject.celery import app as celery_app

__all__ = ["celery_app"]

refusals.install()
