"""Import the modules in which installed apps declare things."""

import traceback
from functools import cache
from importlib import import_module
from pathlib import Path
from types import TracebackType

from django.apps import AppConfig, apps
from django.utils.module_loading import module_has_submodule

from workers.exceptions import WorkflowError, in_a_line


def import_modules(*names: str) -> None:
    """Import the modules of these names of every installed app, once per process.

    Raises ``WorkflowError`` for one that cannot be imported: the app, the module and why, in a
    line.  A failed module has already registered what stands above its error: a second import
    would be refused as registered twice.  So the error is kept, and every later call raises it.
    """
    if failure := _failure(*names):
        error, origin = failure
        # The first traceback only: every raise would lengthen it, as long as the process lives.
        raise error.with_traceback(origin)


@cache
def _failure(*names: str) -> tuple[WorkflowError, TracebackType | None] | None:
    for config in apps.get_app_configs():
        for name in names:
            if error := _import(config, name):
                return error, error.__traceback__
    return None


def _import(config: AppConfig, name: str) -> WorkflowError | None:
    """Import a module of an app, if there is one; return its error."""
    if not module_has_submodule(config.module, name):
        return None
    module = f"{config.name}.{name}"
    try:
        import_module(module)
    except WorkflowError as error:
        # Its text names the workflow or agent.
        return error
    except Exception as error:  # noqa: BLE001 (a module may fail in any way)
        refusal = WorkflowError(
            f"App {config.label}: {module} cannot be imported: {in_a_line(error)}"
            f"{_where(config, error)}. Fix it: the engine imports it to find workflows and agents."
        )
        refusal.__cause__ = error
        return refusal
    return None


def _where(config: AppConfig, error: Exception) -> str:
    """Return the line of the app's own code that failed, if there is one."""
    folder = Path(config.path)
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if Path(frame.filename).is_relative_to(folder):
            return f" ({Path(frame.filename).relative_to(folder.parent)}, line {frame.lineno})"
    return ""
