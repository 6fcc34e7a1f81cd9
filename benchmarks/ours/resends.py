"""How often requests were sent again to agents, by the journal."""

from typing import Any

from django.db.models import Count

from workers.models import Journal

CLAIMED = "claimed"
#: Nobody had started it, so the same claim was sent again.
SENT_AGAIN = ("lost", "resent")


def resends() -> dict[str, Any]:
    """Return the claims, and how many requests were sent again for a hundred of them."""
    events = Journal.objects.filter(event__in=(CLAIMED, *SENT_AGAIN)).values_list("event")
    counts = dict(events.annotate(n=Count("pk")))
    claims = counts.get(CLAIMED, 0)
    again = sum(counts.get(event, 0) for event in SENT_AGAIN)
    percent = 100 * again / claims if claims else None
    return {"claims": claims, "resends": again, "resends_percent": percent}
