"""The engine: a durable Scheduler Agent Supervisor for Django and Celery.

Applications import from here what they declare and call; besides there are ``workers.celery``
(``install``), ``workers.http`` (``post``) and ``workers.testing``.

The engine knows workflows, processes and steps, and never an order.  Where to look:

- the pattern's parts: ``scheduler/``, ``agent/``, ``supervisor/``, and ``store/``, the only
  writer of state
- what an application declares: ``definitions/``; what it calls: ``client/``
- decisions: ``rules/`` (pure), ``states.py`` (the legal moves)
- messages: ``protocol/`` (formats), ``wire/`` (sending and receiving), ``notify/`` (notifying
  submitters), ``tasks.py`` (Celery's entry points)
- operation: ``checks/``, ``management/``, ``operate/``; and two apps that may be left
  out: ``ops/``, what is looked at, and ``desk/``, the operators' desk
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from workers.definitions.agent import Agent, Call, Deferred, LocalAgent
from workers.definitions.alert_kinds import (
    AlertKind,
    IncidentKind,
    Severity,
    register_alert_kind,
)
from workers.definitions.amounts import register_amounts
from workers.definitions.children import Children
from workers.definitions.effects import Effect
from workers.definitions.per_key import PerKey
from workers.definitions.registry import (
    register_agent,
    register_provider,
    register_schedule,
    register_secrets,
    register_task,
    register_workflow,
)
from workers.definitions.schedule import Schedule
from workers.definitions.webhook_provider import Answer, Event, Provider
from workers.definitions.workflow import (
    Condition,
    End,
    Fallback,
    Json,
    OnDeadline,
    OnFailure,
    Undo,
    Workflow,
    step,
)
from workers.exceptions import (
    AlreadySubmitted,
    BadText,
    Fault,
    Permanent,
    Refused,
    StateError,
    Transient,
    Unavailable,
    UnknownAgent,
    UnknownWorkflow,
    WebhookRefused,
    WorkflowError,
)
from workers.privacy.personal_rows import PersonalRows, register_personal_rows
from workers.runtime.failpoints import around, durable

if TYPE_CHECKING:
    from workers.client.callbacks import complete_step, fail_step, find_step
    from workers.client.children import Child, children
    from workers.client.finding import processes
    from workers.client.operations import cancel, pause, resubmit, resume, retry
    from workers.client.progress import snapshot as status
    from workers.client.schedules import schedule, unschedule
    from workers.client.submission import submit, submit_many
    from workers.rules.external_answers import Outcome
    from workers.rules.rows import NewProcess, NewSink
    from workers.store.alerts import raise_alert
    from workers.store.db.dialect import read_clock as database_now
    from workers.store.journal import record_act
    from workers.wire.dispatch import wake_scheduler as wake

__version__ = "0.3.0"

__all__ = [
    "Agent",
    "AlertKind",
    "AlreadySubmitted",
    "Answer",
    "BadText",
    "Call",
    "Child",
    "Children",
    "Condition",
    "Deferred",
    "Effect",
    "End",
    "Event",
    "Fallback",
    "Fault",
    "IncidentKind",
    "Json",
    "LocalAgent",
    "NewProcess",
    "NewSink",
    "OnDeadline",
    "OnFailure",
    "Outcome",
    "PerKey",
    "Permanent",
    "PersonalRows",
    "Provider",
    "Refused",
    "Schedule",
    "Severity",
    "StateError",
    "Transient",
    "Unavailable",
    "Undo",
    "UnknownAgent",
    "UnknownWorkflow",
    "WebhookRefused",
    "Workflow",
    "WorkflowError",
    "around",
    "cancel",
    "children",
    "complete_step",
    "database_now",
    "durable",
    "fail_step",
    "find_step",
    "pause",
    "processes",
    "raise_alert",
    "record_act",
    "register_agent",
    "register_alert_kind",
    "register_amounts",
    "register_personal_rows",
    "register_provider",
    "register_schedule",
    "register_secrets",
    "register_task",
    "register_workflow",
    "resubmit",
    "resume",
    "retry",
    "schedule",
    "status",
    "step",
    "submit",
    "submit_many",
    "unschedule",
    "wake",
]

#: Imported on first use: they need the models, and this package is loaded before those.
_LATER = {
    "Child": ("workers.client.children", "Child"),
    "NewProcess": ("workers.rules.rows", "NewProcess"),
    "NewSink": ("workers.rules.rows", "NewSink"),
    "Outcome": ("workers.rules.external_answers", "Outcome"),
    "cancel": ("workers.client.operations", "cancel"),
    "children": ("workers.client.children", "children"),
    "complete_step": ("workers.client.callbacks", "complete_step"),
    "database_now": ("workers.store.db.dialect", "read_clock"),
    "fail_step": ("workers.client.callbacks", "fail_step"),
    "find_step": ("workers.client.callbacks", "find_step"),
    "pause": ("workers.client.operations", "pause"),
    "processes": ("workers.client.finding", "processes"),
    "raise_alert": ("workers.store.alerts", "raise_alert"),
    "record_act": ("workers.store.journal", "record_act"),
    "resubmit": ("workers.client.operations", "resubmit"),
    "resume": ("workers.client.operations", "resume"),
    "retry": ("workers.client.operations", "retry"),
    "schedule": ("workers.client.schedules", "schedule"),
    "status": ("workers.client.progress", "snapshot"),
    "submit": ("workers.client.submission", "submit"),
    "submit_many": ("workers.client.submission", "submit_many"),
    "unschedule": ("workers.client.schedules", "unschedule"),
    "wake": ("workers.wire.dispatch", "wake_scheduler"),
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, attribute = _LATER[name]
    value = globals()[name] = getattr(import_module(module), attribute)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})
