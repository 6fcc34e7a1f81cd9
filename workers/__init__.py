"""The engine: a durable Scheduler Agent Supervisor for Django and Celery.

What an application declares and calls is imported from here; beside it there are
``workers.celery`` (``install``), ``workers.http`` (``post``) and ``workers.testing``.

It knows workflows, processes and steps, and never an order.  Where to look:

- the three roles: ``scheduler.py``, ``agent.py``, ``supervisor.py``
- what a workflow is: ``workflow.py``, ``policies.py``, ``registry.py``
- the state store: ``states.py`` (legal moves), ``models/`` (tables), ``store/`` (the only
  writer of state), ``decisions.py`` (what a reply leads to, pure)
- the wire: ``messages.py`` (formats), ``dispatch.py`` and ``publishing.py`` (requests, replies,
  wake-ups), ``senders/`` (status messages), ``tasks.py`` (Celery's entry points)
- the edges: ``submission.py`` (accepting a process), ``operations.py`` (steering one),
  ``callbacks.py`` and ``receiving.py`` (answers from outside), ``progress.py`` (reading one),
  ``alerts.py`` (telling an operator)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from workers.agent import Agent, Call, Deferred, LocalAgent
from workers.effects import Effect
from workers.exceptions import (
    Fault,
    Permanent,
    Refused,
    StateError,
    Transient,
    Unavailable,
    UnknownAgent,
    UnknownWorkflow,
    WorkflowError,
)
from workers.registry import register_agent, register_task, register_workflow
from workers.workflow import Fallback, OnDeadline, OnFailure, Undo, Workflow, step

if TYPE_CHECKING:
    from workers.callbacks import complete_step, fail_step
    from workers.operations import cancel, pause, resubmit, resume, retry
    from workers.progress import snapshot as status
    from workers.rows import NewProcess, NewSink
    from workers.submission import submit, submit_many

__version__ = "0.2.0"

__all__ = [
    "Agent",
    "Call",
    "Deferred",
    "Effect",
    "Fallback",
    "Fault",
    "LocalAgent",
    "NewProcess",
    "NewSink",
    "OnDeadline",
    "OnFailure",
    "Permanent",
    "Refused",
    "StateError",
    "Transient",
    "Unavailable",
    "Undo",
    "UnknownAgent",
    "UnknownWorkflow",
    "Workflow",
    "WorkflowError",
    "cancel",
    "complete_step",
    "fail_step",
    "pause",
    "register_agent",
    "register_task",
    "register_workflow",
    "resubmit",
    "resume",
    "retry",
    "status",
    "step",
    "submit",
    "submit_many",
]

#: Imported when they are first asked for: they need the models, which this package is loaded
#: before.
_LATER = {
    "NewProcess": ("workers.rows", "NewProcess"),
    "NewSink": ("workers.rows", "NewSink"),
    "cancel": ("workers.operations", "cancel"),
    "complete_step": ("workers.callbacks", "complete_step"),
    "fail_step": ("workers.callbacks", "fail_step"),
    "pause": ("workers.operations", "pause"),
    "resubmit": ("workers.operations", "resubmit"),
    "resume": ("workers.operations", "resume"),
    "retry": ("workers.operations", "retry"),
    "status": ("workers.progress", "snapshot"),
    "submit": ("workers.submission", "submit"),
    "submit_many": ("workers.submission", "submit_many"),
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, attribute = _LATER[name]
    value = globals()[name] = getattr(import_module(module), attribute)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})
