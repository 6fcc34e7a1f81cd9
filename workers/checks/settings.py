"""Wrong values and unknown names among the ``SAS_*`` settings."""

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

from django.core.checks import CheckMessage, Error

from workers.conf import BadSetting, declared, given

#: SAS_* names that belong to the deployment and not to the engine.
DEPLOYMENT_NAMES = frozenset({"SAS_RUN_DIR", "SAS_LOG_JSON", "SAS_LOG_LEVEL", "SAS_STACK_RUN"})


def check_settings(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Refuse a wrong value and an unknown name among the ``SAS_*`` settings."""
    settings = {setting.name: setting for setting in declared()}
    messages: list[CheckMessage] = []
    for name, value in given().items():
        if name in DEPLOYMENT_NAMES:
            continue
        if name not in settings:
            near = get_close_matches(name, {*settings, *DEPLOYMENT_NAMES}, n=1, cutoff=0.8)
            hint = (
                f"Did you mean {near[0]}?"
                if near
                else 'Remove it, or give it a name that "Settings" in the documentation has.'
            )
            messages.append(Error(f"There is no setting {name}.", hint=hint, id="workers.E002"))
            continue
        try:
            settings[name].read(value)
        except BadSetting as error:
            messages.append(Error(str(error), id="workers.E001"))
    return messages
