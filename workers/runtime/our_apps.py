"""Which of the installed apps are ours."""

from django.apps import AppConfig, apps


def our_apps() -> list[AppConfig]:
    """Return the engine and, where it is installed, the operators' desk."""
    return [app for app in apps.get_app_configs() if app.name.partition(".")[0] == "workers"]
