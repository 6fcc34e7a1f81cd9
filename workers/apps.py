from django.apps import AppConfig
from django.db.models.signals import post_migrate


class WorkersConfig(AppConfig):
    name = "workers"
    verbose_name = "Order processing"

    def ready(self) -> None:
        from workers import checks, schedule  # noqa: F401  (checks register themselves)

        post_migrate.connect(schedule.ensure, sender=self)
