"""What alerts say: they keep a code and parameters."""

from workers.definitions.alert_kinds import alert_text
from workers.models import Alert


def text_of(alert: Alert) -> str:
    """Return an alert in words, as the admin does."""
    return alert_text(alert.code, alert.params, alert.message)
