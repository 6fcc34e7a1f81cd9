"""``SAS_*`` settings that are valid one by one and wrong together."""

from collections.abc import Iterable, Sequence
from typing import Any

from django.core.checks import CheckMessage, Warning

from workers.conf import BadSetting, sas


def check_fitting(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Warn about settings that contradict each other."""
    try:
        return [
            Warning(f"{problem}.", hint=hint, id="workers.W011") for problem, hint in _problems()
        ]
    except BadSetting:
        # workers.E001 reports it.
        return []


def _problems() -> Iterable[tuple[str, str]]:
    for low, high in (
        ("backoff_base_seconds", "backoff_cap_seconds"),
        ("report_backoff_base_seconds", "report_backoff_cap_seconds"),
        ("sweep_seconds", "lease_seconds"),
        ("breaker_seconds", "breaker_alert_seconds"),
    ):
        lower, upper = getattr(sas, low), getattr(sas, high)
        if lower > upper:
            yield (
                f"SAS_{low.upper()} is {lower:g}, more than SAS_{high.upper()}, {upper:g}",
                "Raise the second, or lower the first: it is meant to be the smaller one.",
            )
