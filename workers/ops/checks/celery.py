"""Celery settings that work, and cost messages, time or safety.

They are read from the Celery app itself: its values count, wherever they were set.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from celery import current_app
from django.conf import settings
from django.core.checks import CheckMessage, Warning

from workers.celery.conf import AMQP, DATABASE_SCHEDULER, REDIS
from workers.checks.celery import scheme_of
from workers.wire.dispatch import TASKS

#: Schemes of broker URLs without a server.
EMBEDDED = ("filesystem", "memory")


def check_celery(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Warn about Celery settings."""
    conf = current_app.conf
    return [
        *_warnings(conf),
        *_transport(scheme_of(conf), conf.broker_transport_options or {}),
    ]


def _warnings(conf: Any) -> Iterable[CheckMessage]:
    formats = {*map(str, conf.accept_content)} - {"json", "application/json"}
    if formats:
        yield Warning(
            f"Celery reads {', '.join(sorted(formats))}, too.",
            hint='Set accept_content to ["json"] if your own tasks do not need pickle: whoever '
            "can write to the broker could otherwise run code here.",
            id="workers.W013",
        )
    if conf.task_always_eager:
        yield Warning(
            "Celery's task_always_eager is on.",
            hint="Switch it off outside tests: agents would run inside the sending process, "
            "without a deadline. In tests use workers.testing.",
            id="workers.W001",
        )
    if conf.result_backend:
        yield Warning(
            "Celery has a result backend.",
            hint="Leave result_backend out unless tasks of your own need one: the engine stores "
            "no result there, and a backend that is away fails tasks.",
            id="workers.W002",
        )
    if not conf.task_acks_late:
        yield Warning(
            "Celery's task_acks_late is off.",
            hint="Switch it on: a killed worker loses the tasks it had taken. The engine's own "
            "are acknowledged late in any case.",
            id="workers.W003",
        )
    if conf.worker_prefetch_multiplier != 1:
        yield Warning(
            f"Celery's worker_prefetch_multiplier is {conf.worker_prefetch_multiplier}.",
            hint="Set it to 1: messages would wait behind slow calls of one worker while another "
            "one is idle.",
            id="workers.W004",
        )
    if limited := _limited_tasks(conf):
        yield Warning(
            f"Celery limits the rate of the engine's tasks: {', '.join(limited)}.",
            hint="Leave workers.* out of task_annotations, and task_default_rate_limit out: orders "
            "would wait for it. An agent's own rate is set with `manage.py sas flow`.",
            id="workers.W014",
        )
    if scheme_of(conf) in EMBEDDED and not settings.DEBUG:
        yield Warning(
            f"The broker is {scheme_of(conf)}://, and DEBUG is off.",
            hint="Set BROKER_URL: files reach no other machine, and a killed worker loses the "
            "messages it had taken.",
            id="workers.W005",
        )
    if conf.beat_scheduler != DATABASE_SCHEDULER:
        yield Warning(
            f"Celery Beat's schedule comes from {conf.beat_scheduler}.",
            hint=f"Set beat_scheduler to {DATABASE_SCHEDULER!r}: the sweep and the poll are rows. "
            "Without it every worker asks for them itself, late and with an alert.",
            id="workers.W006",
        )


def _limited_tasks(conf: Any) -> list[str]:
    """Return the engine's tasks whose rate the project's settings limit."""
    if not (conf.task_annotations or conf.task_default_rate_limit):
        return []
    # Outside a worker they are not imported yet; once they are, annotations are applied to them.
    current_app.loader.import_task_module("workers.tasks")
    tasks = current_app.tasks
    return sorted(name for name in tasks if name.startswith(TASKS) and tasks[name].rate_limit)


def _transport(scheme: str, options: dict[str, Any]) -> Iterable[CheckMessage]:
    if scheme in AMQP and not options.get("confirm_publish"):
        yield Warning(
            "RabbitMQ is not asked to confirm messages.",
            hint='Set broker_transport_options["confirm_publish"]: a message into a queue that '
            "vanished is otherwise lost without a word, and found after its allowance.",
            id="workers.W007",
        )
    if scheme in REDIS and not options.get("socket_timeout"):
        yield Warning(
            "A command to Redis has no time limit.",
            hint='Set broker_transport_options["socket_timeout"], 5 for example: a Redis that '
            "hangs holds its callers for minutes.",
            id="workers.W008",
        )
