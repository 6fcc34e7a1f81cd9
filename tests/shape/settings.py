"""The project as in production, with a team's renewals and films beside the shop."""

import os

os.environ |= {
    "DJANGO_DEBUG": "0",
    "DJANGO_SECRET_KEY": "of a server that nobody else reaches, until the run is over",
    "DJANGO_ALLOWED_HOSTS": "127.0.0.1",
    "DJANGO_BEHIND_PROXY": "1",
}

from sasproject.settings import *  # noqa: F403

INSTALLED_APPS = [*INSTALLED_APPS, "tests.shape.app"]  # noqa: F405
