"""How many calls were made again, by the attempts of the steps."""

from typing import Any

from django.db.models import Count, Sum

from workers.models import Step


def again() -> dict[str, Any]:
    """Return the claims, how many were of a step that had one before, and that in a hundred."""
    found = Step.objects.filter(attempt__gt=0).aggregate(claims=Sum("attempt"), steps=Count("pk"))
    claims = found["claims"] or 0
    more = claims - found["steps"]
    percent = 100 * more / claims if claims else None
    return {"claims": claims, "again": more, "again_percent": percent}
