from typing import Any

from django.apps import AppConfig
from django.db.models.signals import post_migrate
from django.utils.translation import gettext_lazy as _


class WorkersConfig(AppConfig):
    name = "workers"
    verbose_name = _("Processes")
    # The migrations have it, whatever the project chooses for its own tables.
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from celery.signals import beat_init, celeryd_init

        from workers import checks  # noqa: F401  (they register themselves)
        from workers.supervisor import beat_schedule

        post_migrate.connect(beat_schedule.ensure, sender=self)
        # For an app without the engine: one with it has refused by now, for this and more.
        celeryd_init.connect(_refuse_uninstalled, weak=False)
        beat_init.connect(_refuse_uninstalled, weak=False)


def _refuse_uninstalled(**kwargs: Any) -> None:
    """End a worker or Beat whose Celery app lacks the engine, with the line to add."""
    from celery import current_app

    from workers.celery.marker import missing_in

    if missing := missing_in(current_app):
        raise SystemExit(missing)
