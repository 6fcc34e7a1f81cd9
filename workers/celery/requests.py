"""Fix Celery's request: a task that raises MemoryError would end its worker.

Celery 5.7 raises a task's MemoryError again in the worker's parent process, which ends.  The
unacknowledged message is delivered again, and ends every worker started after it.  Here it is a
failure like any other: logged and acknowledged as the task's settings say.
"""

from typing import Any

from billiard.einfo import ExceptionInfo
from celery.worker import request

#: By name, Celery's default for every task.
OF_CELERY = "celery.worker.request:Request"
MENDED = "workers.celery.requests:Request"


class OutOfMemory(RuntimeError):
    """A task needed more memory than was available."""


class Request(request.Request):
    def on_failure(self, exc_info: Any, *args: Any, **kwargs: Any) -> Any:
        failure = getattr(exc_info.exception, "exc", exc_info.exception)
        if isinstance(failure, MemoryError):
            exc_info = _as_failure(f"The task raised MemoryError: {failure}", exc_info)
        return super().on_failure(exc_info, *args, **kwargs)


def _as_failure(message: str, original: Any) -> ExceptionInfo:
    try:
        raise OutOfMemory(message)
    except OutOfMemory:
        failure = ExceptionInfo()
    # The place of the allocation, which helps to find the cause.
    failure.traceback = original.traceback
    return failure


def mend(tasks: Any) -> None:
    """Have every task use the fixed request, unless it has chosen one itself."""
    for task in tasks.values():
        if task.Request == OF_CELERY:
            task.Request = MENDED
