"""The project's own settings, with the app of no-op agents beside the shop."""

from sasproject.settings import *  # noqa: F403

INSTALLED_APPS = [*INSTALLED_APPS, "benchmarks.app"]  # noqa: F405
