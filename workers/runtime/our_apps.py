"""The installed apps of this package."""

from django.apps import AppConfig, apps


def our_apps() -> list[AppConfig]:
    """Return the engine and those of its apps that are installed."""
    return [app for app in apps.get_app_configs() if app.name.partition(".")[0] == "workers"]
