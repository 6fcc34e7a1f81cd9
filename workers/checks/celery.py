"""Celery settings that would lose or double messages, and attempts with them.

They are read from the Celery app itself: its values count, wherever they were set.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from celery import current_app
from django.core.checks import CheckMessage, Error

from workers.celery.conf import REDIS
from workers.celery.marker import missing_in
from workers.conf import BadSetting, sas
from workers.definitions import registry
from workers.exceptions import WorkflowError
from workers.wire.dispatch import HARD_LIMIT_MARGIN_SECONDS

#: kombu's default.
DEFAULT_VISIBILITY_SECONDS = 3600


def check_celery(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Refuse Celery settings that orders cannot rely on."""
    conf = current_app.conf
    return [*_errors(conf), *_transport(scheme_of(conf), conf.broker_transport_options or {})]


def _errors(conf: Any) -> Iterable[CheckMessage]:
    if missing := missing_in(current_app):
        yield Error(missing, id="workers.E022")
    if not {"json", "application/json"} & set(map(str, conf.accept_content)):
        yield Error(
            f"Celery reads {', '.join(sorted(map(str, conf.accept_content)))} and no json.",
            hint='Add "json" to accept_content: the engine\'s messages are JSON.',
            id="workers.E015",
        )


def _transport(scheme: str, options: dict[str, Any]) -> Iterable[CheckMessage]:
    if scheme not in REDIS:
        return
    visibility = options.get("visibility_timeout", DEFAULT_VISIBILITY_SECONDS)
    longest = longest_call_seconds()
    if visibility <= longest:
        yield Error(
            f"Redis delivers a message again after {visibility:g} s, and a call may take "
            f"{longest:g} s.",
            hint='Set broker_transport_options["visibility_timeout"] to more than that, twice as '
            "much for example; the shortest of all applications that share the database counts.",
            id="workers.E017",
        )


def longest_call_seconds() -> float:
    """Return the longest time that the code's workflows give a call, until its child is killed."""
    try:
        declared = [
            spec.timeout_seconds for workflow in registry.workflows() for spec in workflow.steps
        ]
        default = sas.step_timeout_seconds
    except (BadSetting, WorkflowError):
        # workers.E001 or workers.E003 says so.
        return 0
    return max([default, *(seconds for seconds in declared if seconds)]) + HARD_LIMIT_MARGIN_SECONDS


def scheme_of(conf: Any) -> str:
    """Return the scheme of the broker's URL."""
    return str(conf.broker_url or "amqp://").partition(":")[0]
