"""Celery's request, mended where a task that raises MemoryError would end its worker.

Celery 5.7 raises the MemoryError of a task again in the worker's parent process, which ends.  The
message was acknowledged by nobody, comes again, and ends every worker that is started after it.
Here it is a failure as any other: it is logged and, as the task has it, acknowledged.
"""

from typing import Any

from billiard.einfo import ExceptionInfo
from celery.worker import request

#: By its name, as Celery has it for every task that does not choose another.
OF_CELERY = "celery.worker.request:Request"
MENDED = "workers.celery.requests:Request"


class OutOfMemory(RuntimeError):
    """A task wanted more memory than there is."""


class Request(request.Request):
    def on_failure(self, exc_info: Any, *args: Any, **kwargs: Any) -> Any:
        failure = getattr(exc_info.exception, "exc", exc_info.exception)
        if isinstance(failure, MemoryError):
            exc_info = _as_failure(f"The task raised MemoryError: {failure}", exc_info)
        return super().on_failure(exc_info, *args, **kwargs)


def _as_failure(said: str, was: Any) -> ExceptionInfo:
    try:
        raise OutOfMemory(said)
    except OutOfMemory:
        failure = ExceptionInfo()
    # Where the memory was wanted, which is what helps.
    failure.traceback = was.traceback
    return failure


def mend(tasks: Any) -> None:
    """Have every task use the mended request, unless it has chosen one itself."""
    for task in tasks.values():
        if task.Request == OF_CELERY:
            task.Request = MENDED
