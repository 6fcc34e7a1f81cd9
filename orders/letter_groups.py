"""Groups of open dead letters with the same cause and client, which one action can resolve."""

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
#: Numbers, ids and quoted values differ between messages of one cause.
_OWN = re.compile(r"'[^']*'|\"[^\"]*\"|[\w-]*\d[\w-]*(?:[.,:]\d+)*")


@dataclass(frozen=True, slots=True)
class Group:
    """Open dead letters of the same cause and sender."""

    #: The oldest letter's key, which names the group.
    pk: int
    cause: str
    client: str
    #: The proven sender; empty if there is none.
    sender: str
    count: int
    first: datetime
    last: datetime

    @property
    def is_proven(self) -> bool:
        return bool(self.sender)

    @property
    def sender_label(self) -> str:
        """Return the sender for people; the mark comes first, because any name can be claimed."""
        if not self.client:
            return "nobody"
        return self.client if self.is_proven else f"unproven {self.client}"


def cause_of(reasons: Iterable[Mapping[str, str]]) -> str:
    """Return the problems of a message without its own values: equal within a group."""
    texts = (_OWN.sub("#", f"{reason['field']} {reason['problem']}") for reason in reasons)
    return storable("; ".join(dict.fromkeys(texts)), LONGEST)


def read(limit: int = MOST) -> list[Group]:
    """Return the groups of open dead letters, largest first, in one pass of an index."""
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
    """Return the open dead letters in the group of a letter, including itself if it is open."""
    letter = DeadLetter.objects.filter(pk=pk).values("cause", "client", "sender").first()
    if letter is None:
        return DeadLetter.objects.none()
    return DeadLetter.objects.filter(state=DeadLetter.State.OPEN, **letter)
