from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class DeskConfig(AppConfig):
    name = "workers.desk"
    label = "desk"
    # As in the migrations, whatever the project chooses for its own tables.
    default_auto_field = "django.db.models.BigAutoField"
    verbose_name = _("Operators' desk")

    def ready(self) -> None:
        from workers.client import explaining
        from workers.desk import alerts, duties, grants  # noqa: F401  (they register themselves)
        from workers.desk.notify.incident_relay import IncidentRelay
        from workers.desk.notify.ping import Ping
        from workers.desk.texts import explain
        from workers.notify import threads

        explaining.register_words(explain)
        threads.also_run(IncidentRelay)
        threads.also_run(Ping)
