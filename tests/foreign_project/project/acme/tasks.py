"""Tasks that the company had before."""

import time
from datetime import date, timedelta

from celery import Task, shared_task
from django.conf import settings
from django.db import connection


@shared_task
def day_after(day: date) -> date:
    """Its argument is no JSON."""
    return day + timedelta(days=1)


@shared_task
def count_people() -> int:
    from people.models import Person

    return Person.objects.count()


@shared_task(soft_time_limit=1)
def slow_query() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_sleep(5)")


@shared_task
def long_task(seconds: float) -> None:
    """Acknowledged when it begins, as Celery does unless told otherwise."""
    with (settings.BASE_DIR / "ledger").open("a") as ledger:
        ledger.write("begun\n")
    time.sleep(seconds)
    with (settings.BASE_DIR / "ledger").open("a") as ledger:
        ledger.write("done\n")


def _cannot_be_read():
    raise RuntimeError


class Unreadable(Exception):
    """The worker's parent process cannot unpickle it."""

    def __reduce__(self):
        return _cannot_be_read, ()


class ExitsOnFailure(Task):
    def on_failure(self, *args, **kwargs):
        raise SystemExit(3)


@shared_task
def unreadable_result() -> Unreadable:
    return Unreadable()


@shared_task
def unreadable_error() -> None:
    raise Unreadable


@shared_task(base=ExitsOnFailure)
def exits_on_failure() -> None:
    raise ValueError
