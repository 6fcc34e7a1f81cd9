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

        # Most register themselves.
        from workers.desk import checks, duties, grants, metrics  # noqa: F401
        from workers.desk.notify.incident_relay import IncidentRelay
        from workers.desk.notify.ping import Ping
        from workers.desk.texts import desk_alerts, engine_alerts, explain  # noqa: F401
        from workers.notify import threads
        from workers.ops.metrics import register_figures

        explaining.register_words(explain)
        threads.also_run(IncidentRelay)
        threads.also_run(Ping)
        register_figures(metrics.read)
