"""What installed apps declare in modules of known names."""

from functools import cache
from types import TracebackType

from django.utils.module_loading import autodiscover_modules


def import_modules(*names: str) -> None:
    """Import the modules of these names of every installed app, once per process.

    A module that fails has registered what stands above its fault: run again, that would be
    refused as registered twice.  So the fault is kept, and every later call raises it again.
    """
    if failure := _failure(*names):
        error, where = failure
        # With where it came from alone: each raise would add to it, for as long as a process lives.
        raise error.with_traceback(where)


@cache
def _failure(*names: str) -> tuple[Exception, TracebackType | None] | None:
    try:
        autodiscover_modules(*names)
    except Exception as error:  # noqa: BLE001 (a module may fail in any way)
        return error, error.__traceback__
    return None
