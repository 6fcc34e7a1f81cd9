"""System checks that a process starts without: those of the doctor's probes, and warnings.

Only `manage.py check` and `migrate` look at what a server, a network or many rows say.
"""

import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from operator import attrgetter
from typing import Any

from django.core.checks import CheckMessage, Error, Warning, register
from django.core.management.commands.check import Command as CheckCommand
from django.db import DEFAULT_DB_ALIAS
from django.db import Error as DatabaseError

from workers.exceptions import WorkflowError
from workers.ops.checks.celery import check_celery
from workers.ops.checks.definitions import check_deadlines, check_key_retention
from workers.ops.checks.settings import check_settings

__all__ = [
    "check_celery",
    "check_deadlines",
    "check_deployment",
    "check_key_retention",
    "check_settings",
    "check_start",
]


def check_start(
    app_configs: Sequence[Any] | None, databases: Sequence[str] | None = None, **kwargs: Any
) -> list[CheckMessage]:
    """Refuse what no process should start with; of `migrate`, a database it should not touch."""
    is_check = is_asked_for()
    if is_check or DEFAULT_DB_ALIAS in (databases or ()):
        return list(_messages("START", of_the_database_alone=not is_check))
    return []


def check_deployment(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Refuse a deployment whose database is away, or older than the code."""
    return list(_messages("DEPLOY")) if is_asked_for() else []


for _check in (check_start, check_celery, check_deadlines, check_settings):
    register(_check)
for _check in (check_deployment, check_key_retention):
    register(_check, deploy=True)


def _messages(when: str, *, of_the_database_alone: bool = False) -> Iterator[CheckMessage]:
    """Run the probes of an occasion, and return as messages what they find that is a check."""
    # Only commands that ask hold the probes in memory.
    from workers.ops import doctor
    from workers.ops.doctor.finding import REFUSED

    for probe in doctor.registered(doctor.When[when]):
        if of_the_database_alone and probe.needs is not doctor.Need.DATABASE:
            continue
        # Other checks report a database that is away, and definitions that cannot work.
        with suppress(DatabaseError, WorkflowError):
            for finding in filter(attrgetter("check"), list(probe.look())):
                words = finding.in_words()
                what = words["what"].removeprefix(f"{finding.check}: ")
                why = "" if finding.why == REFUSED else f" {words['why']}"
                yield (Error if finding.level is doctor.Level.ERROR else Warning)(
                    f"{what[0].upper()}{what[1:]}.",
                    hint=words["remedy"] + why,
                    id=finding.check,
                )


def is_asked_for() -> bool:
    """Say whether the command that runs the checks is `check`: Django does not pass it."""
    frame = sys._getframe().f_back
    while frame is not None:
        if isinstance(frame.f_locals.get("self"), CheckCommand):
            return True
        frame = frame.f_back
    return False
