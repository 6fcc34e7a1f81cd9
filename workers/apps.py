from django.apps import AppConfig
from django.db.models.signals import post_migrate


class WorkersConfig(AppConfig):
    name = "workers"
    # The migrations have it, whatever the project chooses for its own tables.
    default_auto_field = "django.db.models.BigAutoField"
    verbose_name = "Order processing"

    def ready(self) -> None:
        from workers import checks, schedule  # noqa: F401  (checks register themselves)

        post_migrate.connect(schedule.ensure, sender=self)
