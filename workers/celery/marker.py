"""Whether a Celery app has the engine installed."""

from typing import Any
from weakref import WeakSet

#: By its name: the queues are asked for when Django is set up, and cannot be imported before.
AMQP = "workers.celery.queues:AMQP"
MISSING = (
    "The Celery app {name!r} does not have the engine installed. Add "
    "`from workers.celery import install` and `install(app)` to the module that makes it, after "
    "`app.config_from_object(...)`, and import that app in the project's `__init__.py`."
)
#: The apps of this process that have it.
_apps: WeakSet[Any] = WeakSet()


def note_installed(app: Any) -> None:
    """Note that an app of this process has the engine."""
    _apps.add(app)


def is_forgotten() -> bool:
    """Say whether no app of this process has the engine: nobody has called ``install``."""
    return not _apps


def is_installed(app: Any) -> bool:
    """Say whether an app has the engine installed."""
    return bool(app.amqp_cls == AMQP)


def missing_in(app: Any) -> str | None:
    """Return the sentence that says what an app lacks; None: nothing."""
    return None if is_installed(app) else MISSING.format(name=app.main or "default")
