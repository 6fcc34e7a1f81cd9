"""The project's own settings, with the app of awkward agents beside the shop."""

from sasproject.settings import *  # noqa: F403

INSTALLED_APPS = [*INSTALLED_APPS, "tests.acceptance.box"]  # noqa: F405
