"""System checks: wrong settings and unworkable definitions are refused at start-up."""

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register

from workers import registry
from workers.conf import BadSetting, numbers
from workers.exceptions import WorkflowError
from workers.workflow import StepSpec

#: SAS_* names that belong to the deployment and not to the engine.
DEPLOYMENT_NAMES = frozenset({"SAS_RUN_DIR", "SAS_LOG_JSON", "SAS_LOG_LEVEL"})


@register()
def check_settings(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Refuse a wrong value and an unknown name among the ``SAS_*`` settings."""
    known = {setting.name: setting for setting in numbers()}
    found: list[CheckMessage] = []
    for name in sorted(dir(settings)):
        if not name.startswith("SAS_") or name in DEPLOYMENT_NAMES:
            continue
        if name not in known:
            near = get_close_matches(name, known, n=1)
            hint = f"Did you mean {near[0]}?" if near else "See docs/reference/settings.md."
            found.append(
                Error(f"{name} is no setting of the engine.", hint=hint, id="workers.E002")
            )
            continue
        try:
            known[name].read(getattr(settings, name))
        except BadSetting as error:
            found.append(Error(str(error), id="workers.E001"))
    return found


@register()
def check_definitions(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Refuse workflows that name agents which do not exist."""
    try:
        registry.discover()
    except WorkflowError as error:
        return [Error(str(error), id="workers.E003")]
    known = {agent.name for agent in registry.agents()}
    return [
        Error(
            f"Step {spec.name} of workflow {workflow.name} version {workflow.version} names the"
            f" agent {name!r}, which is not registered.",
            hint=f"Register it, or use one of: {', '.join(sorted(known)) or 'none yet'}.",
            id="workers.E004",
        )
        for workflow in registry.workflows()
        for spec in workflow.steps
        for name in _agents_of(spec)
        if name not in known
    ]


def _agents_of(spec: StepSpec) -> list[str]:
    undo = [spec.undo.agent] if spec.undo else []
    others = [
        name
        for fallback in spec.fallbacks
        for name in (fallback.agent, fallback.undo_agent)
        if name is not None
    ]
    return [spec.agent, *undo, *others]
