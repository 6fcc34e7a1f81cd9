"""A system check of the desk's own: what has to be installed beside it."""

from collections.abc import Sequence
from typing import Any

from django.apps import apps
from django.core.checks import CheckMessage, Error, register


@register
def check_installed(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Refuse a desk whose doctor, figures and invariants are not installed."""
    if apps.is_installed("workers.ops"):
        return []
    return [
        Error(
            "workers.desk is installed without workers.ops.",
            hint='Add "workers.ops" to INSTALLED_APPS: the desk shows what its probes find.',
            id="workers.E027",
        )
    ]
