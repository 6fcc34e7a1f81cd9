"""Whether a Celery app has the engine installed."""

from typing import Any

#: By its name: the queues are asked for when Django is set up, and cannot be imported before.
AMQP = "workers.celery.queues:AMQP"
MISSING = (
    "The Celery app {name!r} does not have the engine installed. Add "
    "`from workers.celery import install` and `install(app)` to the module that makes it, after "
    "`app.config_from_object(...)`, and import that app in the project's `__init__.py`."
)


def is_installed(app: Any) -> bool:
    """Say whether an app has the engine installed."""
    return bool(app.amqp_cls == AMQP)


def missing_in(app: Any) -> str | None:
    """Return the sentence that says what an app lacks; None: nothing."""
    return None if is_installed(app) else MISSING.format(name=app.main or "default")
