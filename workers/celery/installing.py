"""Installing the engine in a project's Celery app."""

from celery import Celery
from celery.signals import beat_init, celeryd_after_setup, celeryd_init, import_modules
from kombu.transport import TRANSPORT_ALIASES

from workers.celery import hooks
from workers.celery.conf import fill_in
from workers.celery.marker import AMQP, is_installed

#: By their names: kombu imports them, and what they need, when one is first connected to.
TRANSPORTS = {
    "filesystem": "workers.celery.filesystem_transport:Transport",
    "redis": "workers.celery.redis_transport:Transport",
    "rediss": "workers.celery.redis_transport:Transport",
}


def install(app: Celery) -> None:
    """Install the engine in a Celery app: call it once, after ``config_from_object``.

    From then on plain ``celery worker`` and ``celery beat`` of this app keep the engine's
    promises: a worker serves the engine's queues and every agent's, ends without using up
    attempts, covers a dead Beat, notices dead children, and refuses to start with settings that
    orders cannot rely on.  Settings that the project has not given get the engine's values
    (see "Install the engine into your project" in the documentation); those it has given stay as
    they are, and the system checks say which do not fit.

    Installing twice is once.  Raises RuntimeError for an app that has been used already.
    """
    if is_installed(app):
        return
    if "amqp" in vars(app):
        raise RuntimeError(
            "install(app) must come before the Celery app is used. Call it where the app is made."
        )
    app.amqp_cls = AMQP
    # At once: kombu keeps what it has resolved.
    TRANSPORT_ALIASES.update(TRANSPORTS)
    app.on_after_configure.connect(fill_in, sender=app, weak=False)
    if getattr(app, "configured", False):
        fill_in(sender=app, source=app.conf)
    # Celery's signals are the process's, which serves one app.
    import_modules.connect(hooks.refuse_to_start, weak=False)
    beat_init.connect(hooks.look_at_broker, weak=False)
    beat_init.connect(hooks.drop_future_runs, weak=False)
    beat_init.connect(hooks.end_at_once, weak=False)
    celeryd_init.connect(hooks.name_run, weak=False)
    celeryd_init.connect(hooks.add_steps, weak=False)
    for hook in (hooks.look_at_pool, hooks.ask_no_neighbours, hooks.look_at_broker_and_queues):
        celeryd_after_setup.connect(hook, weak=False)
