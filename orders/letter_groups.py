"""Dead letters of one reason and one client: what one answer, or one correction, deals with."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Max, Min, QuerySet

from orders.consumer.message import storable
from orders.models import DeadLetter

#: Groups that are shown, the largest first: strangers can make up names.
MOST = 100
LONGEST = 200
#: A number, an id or a quoted value is one message's own.
_OWN = re.compile(r"'[^']*'|\"[^\"]*\"|[\w-]*\d[\w-]*(?:[.,:]\d+)*")


@dataclass(frozen=True, slots=True)
class Group:
    """Open dead letters that are alike."""

    #: The oldest of them, by which the group is named.
    pk: int
    cause: str
    client: str
    #: Who is proven to have sent them; empty where nobody is.
    sender: str
    count: int
    first: datetime
    last: datetime

    @property
    def is_proven(self) -> bool:
        return bool(self.sender)

    @property
    def said_by(self) -> str:
        """Return who sent them, for people; the mark comes first, for the name may be anything."""
        if not self.client:
            return "nobody"
        return self.client if self.is_proven else f"unproven {self.client}"


def cause_of(reasons: Iterable[Mapping[str, str]]) -> str:
    """Return what is wrong with a message, without what is its own: equal for those alike."""
    said = (_OWN.sub("#", f"{one['field']} {one['problem']}") for one in reasons)
    return storable("; ".join(dict.fromkeys(said)), LONGEST)


def read(limit: int = MOST) -> list[Group]:
    """Return the groups of the open dead letters, the largest first: one pass of an index."""
    rows = (
        DeadLetter.objects.filter(state=DeadLetter.State.OPEN)
        .order_by()
        .values("cause", "client", "sender")
        .annotate(
            oldest=Min("id"), n=Count("id"), first=Min("received_at"), last=Max("received_at")
        )
        .order_by("-n", "oldest")
    )
    return [
        Group(
            *(row["oldest"], row["cause"], row["client"], row["sender"]),
            *(row["n"], row["first"], row["last"]),
        )
        for row in rows[:limit]
    ]


def like(pk: int) -> QuerySet[DeadLetter]:
    """Return the open dead letters that are like one, itself included where it is open."""
    one = DeadLetter.objects.filter(pk=pk).values("cause", "client", "sender").first()
    if one is None:
        return DeadLetter.objects.none()
    return DeadLetter.objects.filter(state=DeadLetter.State.OPEN, **one)
