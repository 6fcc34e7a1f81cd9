"""Check at the start of workers, Beat and web processes whether they can work.

An unavailable server is no reason to end: the process waits for it, as later on.  Only Beat cannot
wait for the database: it reads its schedule from there first.
"""

from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Literal

from django.core.checks import run_checks

from workers.celery import broker_login
from workers.celery.queues import declared_otherwise, remedy_of
from workers.checks import run_without_pages, tables


def problems(role: Literal["web", "worker", "beat"]) -> Iterable[str]:
    """Yield the errors of the system checks, and why the database cannot be used.

    Only for Beat is an unavailable database a problem; checks of pages concern the web alone.
    """
    for message in run_checks() if role == "web" else run_without_pages():
        if message.is_serious() and not message.is_silenced():
            yield str(message)
    if problem := tables.problem(waits=role != "beat", is_worker=role == "worker"):
        yield problem


def refuse_broker(app: Any, queues: Iterable[str] = ()) -> None:
    """End a worker or Beat whose login the broker refuses, with the reason.

    Also for a queue that exists and is declared otherwise, on which Celery would end, too, or
    restart for ever.  Uses one connection and closes it; an unavailable broker is no reason.
    """
    with app.connection_for_write() as connection:
        try:
            connection.ensure_connection(max_retries=1, timeout=connection.connect_timeout)
        except Exception as error:  # noqa: BLE001 (every transport has its own)
            if reason := broker_login.refusal(error):
                raise SystemExit(reason) from None
            return
        if connection.transport.driver_type != "amqp":
            return
        with suppress(OSError, *connection.connection_errors):
            for name in queues:
                if reason := declared_otherwise(connection, app.amqp.queues[name]):
                    raise SystemExit(
                        f"The queue {name} exists and is not as this code declares it: {reason}. "
                        + remedy_of(name)
                    )
