"""Celery's Django fix-up, which here leaves the engine's tasks their database connection.

Celery closes every connection before and after a task, whatever CONN_MAX_AGE says.  That is right
for a project's own tasks: a connection that was cut off, or that a soft time limit left in the
middle of a query, fails one task at most.  The engine's tasks look after their connection
themselves (``db_connections.kept``); a new one for each would cost about 80 % of the throughput.
"""

from typing import Any

from celery.fixups.django import DjangoFixup, DjangoWorkerFixup  # type: ignore[attr-defined]

from workers.wire.dispatch import TASKS


class WorkerFixup(DjangoWorkerFixup):  # type: ignore[misc]
    def on_task_prerun(self, sender: Any, **kwargs: Any) -> None:
        """Close connections before a task of the project."""
        if not sender.name.startswith(TASKS):
            super().on_task_prerun(sender, **kwargs)

    def on_task_postrun(self, sender: Any, **kwargs: Any) -> None:
        """Close connections after a task of the project, and caches after every task."""
        if not sender.name.startswith(TASKS):
            super().on_task_postrun(sender, **kwargs)
        elif not getattr(sender.request, "is_eager", False):
            self.close_cache()


def replace_in(app: Any) -> None:
    """Use our worker fix-up in an app; call it before ``worker_init``, which connects it.

    An app that was made without DJANGO_SETTINGS_MODULE has no fix-up, and stays unchanged.
    """
    for fixup in app._fixups:
        if isinstance(fixup, DjangoFixup):
            fixup.worker_fixup = WorkerFixup(app)  # type: ignore[misc]
