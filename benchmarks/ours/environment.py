"""Django, set up for a measurement; imported before anything that needs it."""

import os

from benchmarks import child

child.ensure_folder()
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "benchmarks.settings")
os.environ.setdefault("SAS_LOG_LEVEL", "WARNING")

import django  # noqa: E402

django.setup()
