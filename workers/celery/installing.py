"""Installing the engine in a project's Celery app."""

from collections.abc import Callable
from functools import cache, wraps
from typing import Any

from celery import Celery
from celery.signals import (
    after_setup_logger,
    after_setup_task_logger,
    beat_init,
    celeryd_after_setup,
    celeryd_init,
    import_modules,
    worker_init,
)
from kombu.transport import TRANSPORT_ALIASES

from workers.celery import hooks
from workers.celery.conf import fill_in
from workers.celery.marker import AMQP, is_installed, note_installed

#: By name: kombu imports a transport, and what it needs, at the first connection.
TRANSPORTS = {
    "filesystem": "workers.celery.filesystem_transport:Transport",
    "redis": "workers.celery.redis_transport:Transport",
    "rediss": "workers.celery.redis_transport:Transport",
}
#: Hooks for the start of a worker or Beat, in this order.
HOOKS: tuple[tuple[Any, Callable[..., None]], ...] = (
    (celeryd_init, hooks.refuse_worker),
    (import_modules, hooks.refuse_beat),
    (beat_init, hooks.look_at_broker),
    (beat_init, hooks.drop_future_runs),
    (beat_init, hooks.say_whose),
    (beat_init, hooks.end_at_once),
    (beat_init, hooks.mark_alive),
    (celeryd_init, hooks.name_run),
    (celeryd_init, hooks.add_steps),
    (celeryd_init, hooks.keep_connections),
    (worker_init, hooks.tell_no_neighbours),
    (celeryd_after_setup, hooks.look_at_pool),
    (celeryd_after_setup, hooks.outlive_want_of_memory),
    (celeryd_after_setup, hooks.look_at_broker),
    (celeryd_after_setup, hooks.name_neighbours),
    (celeryd_after_setup, hooks.give_calls_time),
    (celeryd_after_setup, hooks.mark_alive),
)


def install(app: Celery) -> None:
    """Install the engine in a Celery app: call it once, after ``config_from_object``.

    From then on plain ``celery worker`` and ``celery beat`` of this app keep the engine's
    promises: a worker serves the engine's queues and every agent's, ends without using up
    attempts, covers a dead Beat, notices dead children, and refuses to start with settings that
    orders cannot rely on.  Settings that the project leaves out get the engine's values
    (see "Install the engine into your project" in the documentation); its own stay as they are,
    and the system checks report those that do not fit.

    Installing again does nothing.  Raises RuntimeError for an app that has been used already.
    """
    if is_installed(app):
        return
    if "amqp" in vars(app):
        raise RuntimeError(
            "install(app) must come before the Celery app is used. Call it where the app is made."
        )
    app.amqp_cls = AMQP
    note_installed(app)
    # At once: kombu caches the transports that it resolves.
    TRANSPORT_ALIASES.update(TRANSPORTS)
    app.on_after_configure.connect(fill_in, sender=app, weak=False)
    if getattr(app, "configured", False):
        fill_in(sender=app, source=app.conf)
    for signal, hook in HOOKS:
        signal.connect(_for_installed(hook), weak=False)
    # For every app: a process has one log.
    after_setup_logger.connect(hooks.show_fields, weak=False)
    after_setup_task_logger.connect(hooks.show_fields, weak=False)


@cache
def _for_installed(hook: Callable[..., None]) -> Callable[..., None]:
    """Return a receiver that calls a hook for apps with the engine, and ignores all others.

    Celery's signals belong to the process: a test's app, or a second one of the project, sends
    the same ones.  Created once for each hook, so that two installed apps connect it once.
    """

    @wraps(hook)
    def receive(sender: Any = None, instance: Any = None, **kwargs: Any) -> None:
        # An app, Beat's service, or a worker, whose name is then the sender.
        source = instance or sender
        if is_installed(getattr(source, "app", source)):
            hook(sender=sender, instance=instance, **kwargs)

    return receive
