from typing import Any

from django.apps import AppConfig
from django.db.models.signals import post_migrate
from django.utils.translation import gettext_lazy as _


class WorkersConfig(AppConfig):
    name = "workers"
    verbose_name = _("Workflows")
    # As in the migrations, whatever the project chooses for its own tables.
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from celery.signals import beat_init, celeryd_init

        # Checks, duties and verbs register themselves.
        from workers import checks, logs  # noqa: F401
        from workers.operate import duties, schedules  # noqa: F401
        from workers.privacy import erase  # noqa: F401
        from workers.supervisor import beat_schedule

        logs.show_fields_without_handlers()
        post_migrate.connect(beat_schedule.ensure, sender=self)
        # For apps without the engine: those with it have run their own checks by now.
        celeryd_init.connect(_refuse_uninstalled, weak=False)
        beat_init.connect(_refuse_uninstalled, weak=False)


def _refuse_uninstalled(**kwargs: Any) -> None:
    """End a worker or Beat of a project that has not installed the engine in any Celery app.

    If some app has it, an app without it is the project's own affair.
    """
    from celery import current_app

    from workers.celery.marker import is_forgotten, missing_in

    if is_forgotten() and (message := missing_in(current_app)):
        raise SystemExit(message)
