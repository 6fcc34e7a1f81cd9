"""A task that the company had before: its argument is no JSON."""

from datetime import date, timedelta

from celery import shared_task


@shared_task
def day_after(day: date) -> date:
    return day + timedelta(days=1)
