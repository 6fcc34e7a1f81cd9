"""The state after a crash has healed, and its comparison with a run without a crash."""

import json
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from workers.models import Journal, Process, Sink
from workers.notify.senders import StatusMessage
from workers.testing.wire import Wire

#: Events that one more attempt at a step may add to the journal.
OF_AN_ATTEMPT = frozenset(
    {"ready", "claimed", "expired", "handed_back", "stale_reply", "reply_filed"}
)
#: Fields of a status message about the event; all others are about its subject.
_EVENT_FIELDS = {"sequence", "state", "event", "at", "step", "detail"}
#: Number of journal rows by process, step ("" = the process) and event.
Story = Counter[tuple[str, str, str]]


@dataclass(frozen=True, slots=True)
class Crash:
    """Where a process is killed: a point, and which time it is reached."""

    point: str
    hit: int
    #: Whether the broker delivers unacknowledged messages again; otherwise all are lost.
    redelivers: bool

    def __str__(self) -> str:
        fate = "messages come again" if self.redelivers else "messages are lost"
        return f"killed at {self.point} (time {self.hit}), {fate}"


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
    """What a check may examine once everything has healed."""

    #: None: nothing crashed, which must pass, too.
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

        A step may have one more event of each kind in ``may_add``, by default those of another
        attempt, and one less of each in ``may_lack``.  Steps named in ``but_for`` are not
        compared, such as one that the crash left in doubt, and its undo.
        """
        if self.calm is None:
            return
        healed = story()
        wrong = []
        for key in sorted({*healed, *self.calm}):
            _, step, event = key
            if step in but_for:
                continue
            more = healed[key] - self.calm[key]
            if (more == 1 and event in may_add) or (more == -1 and event in may_lack):
                continue
            if more:
                wrong.append(f"  {healed[key]} instead of {self.calm[key]}: {' '.join(key)}")
        if wrong:
            raise AssertionError("\n".join(["The journal differs:", *wrong]))

    def assert_told_everything(self) -> None:
        """Assert that every sink was sent all sequence numbers of its process, in order.

        A number may be sent again, and all after it, as promised: at least once.  No number may
        be sent for the first time out of order.
        """
        firsts: dict[tuple[str, str], list[int]] = {}
        for message in self.told:
            facts = {
                name: message.body[name] for name in sorted(message.body.keys() - _EVENT_FIELDS)
            }
            numbers = firsts.setdefault((message.address, json.dumps(facts)), [])
            if message.body["sequence"] not in numbers:
                numbers.append(message.body["sequence"])
        told = sorted((address, numbers) for (address, _), numbers in firsts.items())
        sinks = Sink.objects.values_list("address", "last")
        expected = sorted((address, list(range(1, last + 1))) for address, last in sinks)
        if told != expected:
            raise AssertionError(f"The sinks were sent {told}, expected {expected}.")


def story() -> Story:
    """Return how often each event of each process and step is in the journal.

    A process is named by its workflow and its place among those submitted: its subject may have a
    number from a sequence, which a rollback does not give back.
    """
    submitted = Process.objects.order_by("id").values_list("id", "workflow")
    names = {pk: f"{workflow} {place}" for place, (pk, workflow) in enumerate(submitted, 1)}
    rows = Journal.objects.values_list("process_id", "step__name", "event")
    return Counter((names.get(pk, ""), step or "", event) for pk, step, event in rows)
