"""System checks: wrong settings and unworkable definitions are refused at start-up.

Warnings, and what only a command asks, stand in ``workers.ops.checks``.
"""

from collections.abc import Iterator

from django.core.checks import CheckMessage, register
from django.core.checks.registry import registry

from workers.checks.celery import check_celery
from workers.checks.databases import check_databases
from workers.checks.definitions import check_definitions
from workers.checks.queues import check_queues
from workers.checks.settings import DEPLOYMENT_NAMES, check_settings

__all__ = [
    "DEPLOYMENT_NAMES",
    "check_celery",
    "check_databases",
    "check_definitions",
    "check_queues",
    "check_settings",
    "run_without_pages",
]

#: The system checks that load pages and their forms: by their tags, and one of Django's that has
#: none by its name.
PAGES = {"admin", "staticfiles", "templates", "urls", "check_middleware"}

for _check in (check_settings, check_definitions, check_queues, check_celery, check_databases):
    register(_check)


def run_without_pages() -> Iterator[CheckMessage]:
    """Run the system checks that concern a process without pages.

    The others would have it hold the code of every page in memory.
    """
    for check in registry.get_checks():
        if PAGES.isdisjoint((*check.tags, getattr(check, "__name__", ""))):
            yield from check(app_configs=None, databases=None)
