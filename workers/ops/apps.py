from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class OpsConfig(AppConfig):
    name = "workers.ops"
    # Without tables no other app sees it: a project may have an app `ops` of its own.
    label = "workers_ops"
    verbose_name = _("Operations")

    def ready(self) -> None:
        from workers.ops import checks  # noqa: F401  (they register themselves)
