"""The project's own settings, with the app of no-op agents beside the shop."""

import os

from sasproject.settings import *  # noqa: F403

INSTALLED_APPS = [*INSTALLED_APPS, "benchmarks.app"]  # noqa: F405
if os.environ.get("BENCH_WITHOUT") == "confirms":
    CELERY_BROKER_TRANSPORT_OPTIONS["confirm_publish"] = False  # noqa: F405
