"""The project's own settings as in production, with the app of no-op agents beside the shop."""

import os

# With DEBUG on, Django writes down every statement.
os.environ |= {
    "DJANGO_DEBUG": "0",
    "DJANGO_SECRET_KEY": "of a server that nobody else reaches, until it is measured",
    "DJANGO_ALLOWED_HOSTS": "127.0.0.1",
    # There is none; a client says so itself that it came by HTTPS.
    "DJANGO_BEHIND_PROXY": "1",
}

from sasproject.settings import *  # noqa: F403

INSTALLED_APPS = [*INSTALLED_APPS, "benchmarks.app"]  # noqa: F405
if os.environ.get("BENCH_WITHOUT") == "confirms":
    CELERY_BROKER_TRANSPORT_OPTIONS["confirm_publish"] = False  # noqa: F405
