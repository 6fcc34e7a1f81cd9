"""System checks that a process starts without: those of the doctor's probes, and warnings.

Only `manage.py check` and `migrate` look at what a server, a network or many rows say.
"""

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from django.core.checks import CheckMessage, Error, Warning, register
from django.core.management.commands.check import Command as CheckCommand
from django.db import DEFAULT_DB_ALIAS
from django.db import Error as DatabaseError

from workers.exceptions import WorkflowError
from workers.ops.checks.celery import check_celery
from workers.ops.checks.definitions import check_deadlines, check_key_retention
from workers.ops.checks.settings import check_settings

if TYPE_CHECKING:
    from workers.ops.doctor import Finding, When

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
    if not is_check and DEFAULT_DB_ALIAS not in (databases or ()):
        return []
    from workers.ops.doctor import When

    return list(_messages(When.START, of_the_database_alone=not is_check))


def check_deployment(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Refuse a deployment whose database is away, or older than the code."""
    if not is_asked_for():
        return []
    from workers.ops.doctor import When

    return list(_messages(When.DEPLOY))


for _check in (check_start, check_celery, check_deadlines, check_settings):
    register(_check)
for _check in (check_deployment, check_key_retention):
    register(_check, deploy=True)


def _messages(when: "When", *, of_the_database_alone: bool = False) -> Iterator[CheckMessage]:
    # Only commands that ask hold the probes in memory.
    from workers.ops.doctor import Need, registered

    for probe in registered(when):
        if of_the_database_alone and probe.needs is not Need.DATABASE:
            continue
        try:
            findings = list(probe.look())
        except (DatabaseError, WorkflowError):
            # Other checks report a database that is away, and definitions that cannot work.
            continue
        yield from (_message(finding) for finding in findings if finding.check)


def _message(finding: "Finding") -> CheckMessage:
    from workers.ops.doctor.finding import REFUSED

    words = finding.in_words()
    what = words["what"].removeprefix(f"{finding.check}: ")
    kind = Error if finding.level == "error" else Warning
    return kind(
        f"{what[0].upper()}{what[1:]}.",
        hint=words["remedy"] if finding.why == REFUSED else f"{words['remedy']} {words['why']}",
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
