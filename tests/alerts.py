"""What alerts say: they keep a code and parameters."""

from workers.desk.texts import alert_texts
from workers.models import Alert


def text_of(alert: Alert) -> str:
    """Return an alert in words, as the admin does."""
    return alert_texts.message(alert.code, alert.params, alert.message)
