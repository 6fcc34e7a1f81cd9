"""Whether a Celery app has the engine installed."""

from typing import Any
from weakref import WeakSet

#: By name: the queues cannot be imported before Django is set up.
AMQP = "workers.celery.queues:AMQP"
MISSING = (
    "The Celery app {name!r} does not have the engine installed. Add "
    "`from workers.celery import install` and `install(app)` to the module that makes it, after "
    "`app.config_from_object(...)`, and import that app in the project's `__init__.py`."
)
#: The apps of this process with the engine.
_apps: WeakSet[Any] = WeakSet()


def note_installed(app: Any) -> None:
    """Note that an app of this process has the engine."""
    _apps.add(app)


def is_forgotten() -> bool:
    """Say whether no app of this process has the engine: ``install`` was never called."""
    return not _apps


def is_installed(app: Any) -> bool:
    """Say whether an app has the engine installed."""
    return bool(app.amqp_cls == AMQP)


def missing_in(app: Any) -> str | None:
    """Return the error for an app without the engine; None: the app has it."""
    return None if is_installed(app) else MISSING.format(name=app.main or "default")
