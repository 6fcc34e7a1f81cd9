"""What is there once a crash has healed, and how it compares with a run without one."""

import json
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from workers.models import Journal, Process, Sink
from workers.notify.senders import StatusMessage
from workers.testing.wire import Wire

#: What one more attempt at a step may add to its journal.
OF_AN_ATTEMPT = frozenset(
    {"claimed", "lost", "expired", "handed_back", "stale_reply", "reply_filed"}
)
#: What of a status message says what happened, and not to what.
_OF_ONE_ROW = {"sequence", "state", "event", "at", "step", "detail"}
#: How often something is in the journal, by subject, step ("" = the process) and event.
Story = Counter[tuple[str, str, str]]


@dataclass(frozen=True, slots=True)
class Crash:
    """Where a process dies: the so many-th time that it reaches a point."""

    point: str
    hit: int
    #: Whether the broker delivers again what nobody had acknowledged; else it lost it all.
    redelivers: bool

    def __str__(self) -> str:
        then = "messages come again" if self.redelivers else "messages are lost"
        return f"killed at {self.point} (time {self.hit}), {then}"


@dataclass(frozen=True, slots=True)
class Told:
    """A status message that was sent."""

    address: str
    body: dict[str, Any]

    @classmethod
    def of(cls, message: StatusMessage) -> "Told":
        return cls(message.address, json.loads(message.body))


@dataclass(frozen=True, slots=True)
class Aftermath:
    """What a check may look at once everything has healed."""

    #: None: nothing crashed, which must do, too.
    crash: Crash | None
    wire: Wire
    #: The status messages sent, those of the dead process first.
    told: list[Told]
    #: The journal of the run without a crash; None: this is that run.
    calm: Story | None

    def assert_same_journal(
        self,
        *,
        may_add: Collection[str] = OF_AN_ATTEMPT,
        may_lack: Collection[str] = (),
        but_for: Collection[str] = (),
    ) -> None:
        """Assert that everything happened as often as without a crash.

        A step may have one event more of each kind in ``may_add``, those of one more attempt
        unless said otherwise, and one less of each in ``may_lack``.  Steps named in
        ``but_for`` are not compared, such as one that the crash left in doubt, and its undo.
        """
        if self.calm is None:
            return
        found = story()
        wrong = []
        for what in sorted({*found, *self.calm}):
            if what[1] in but_for:
                continue
            more = found[what] - self.calm[what]
            if (more == 1 and what[2] in may_add) or (more == -1 and what[2] in may_lack):
                continue
            if more:
                wrong.append(f"  {found[what]} instead of {self.calm[what]}: {' '.join(what)}")
        if wrong:
            raise AssertionError("\n".join(["The journal is another one:", *wrong]))

    def assert_told_everything(self) -> None:
        """Assert that every sink was sent all numbers of its process, in order.

        One that was sent before may come again, and everything after it, as promised: at
        least once.  No number may come for the first time out of its turn.
        """
        firsts: dict[tuple[str, str], list[int]] = {}
        for one in self.told:
            facts = {name: one.body[name] for name in sorted(one.body.keys() - _OF_ONE_ROW)}
            known = firsts.setdefault((one.address, json.dumps(facts)), [])
            if one.body["sequence"] not in known:
                known.append(one.body["sequence"])
        told = sorted((address, numbers) for (address, _), numbers in firsts.items())
        sinks = Sink.objects.values_list("address", "last")
        wanted = sorted((address, list(range(1, last + 1))) for address, last in sinks)
        if told != wanted:
            raise AssertionError(f"Told were {told}, to be told {wanted}.")


def story() -> Story:
    """Return what has happened, by the journal: process, step, event, and how often.

    A process is called by its workflow and its place among those submitted: its subject may hold a
    number of a sequence, which a transaction that a crash rolled back does not give back.
    """
    submitted = Process.objects.order_by("id").values_list("id", "workflow")
    names = {pk: f"{workflow} {place}" for place, (pk, workflow) in enumerate(submitted, 1)}
    rows = Journal.objects.values_list("process_id", "step__name", "event")
    return Counter((names.get(pk, ""), step or "", event) for pk, step, event in rows)
