"""Open alerts: neither resolved nor acknowledged."""

from collections.abc import Iterable

from django.db.models import Count, Min

from workers.definitions.sentences import say as _
from workers.definitions.sentences import say_counted as ngettext
from workers.models import Alert
from workers.ops.doctor.finding import Finding, ok, warning
from workers.ops.doctor.registry import probe


@probe("alerts")
def are_acknowledged() -> Iterable[Finding]:
    """Count the open alerts, by code."""
    rows = (
        Alert.objects.filter(acknowledged_at=None)
        .values_list("code")
        .annotate(n=Count("pk"), first=Min("raised_at"))
        .order_by("code")
    )
    bad = [
        warning(
            ngettext(
                "%(n)d open alert %(code)s, from %(first)s UTC",
                "%(n)d open alerts %(code)s, the first from %(first)s UTC",
                count,
                code=code,
                first=f"{first:%Y-%m-%d %H:%M}",
            ),
            _("Each needs an operator's attention."),
            _(
                "Follow the remedy of its incident. It closes by itself once its cause has"
                ' ended, unless "Alerts" in the documentation says otherwise.'
            ),
        )
        for code, count, first in rows
    ]
    yield from bad or [ok(_("no alert is open"))]
