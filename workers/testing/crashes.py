"""Crashes: a process is killed at every point of a workflow, and the rest must heal.

    def test_my_workflow_survives(transactional_db, tmp_path):
        ledger = Ledger(tmp_path / "ledger")
        survey = crash_everywhere(lambda: place("key-1"), check=lambda after: ...)

The workflow runs once to its end to see which points it reaches (``workers.runtime.failpoints``).
Then, for each point, everything begins anew in a process that SIGKILL ends there, and another
process recovers: once with every message lost, once with the unacknowledged ones delivered
again.

Needs a database that two processes can see, tests outside a transaction (``transactional_db``),
and a system that forks.
"""

import os
import signal
import traceback
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import datetime
from itertools import cycle
from typing import Any

from django.db import connection

from workers.runtime import failpoints
from workers.store.db import dialect
from workers.testing.assertions import assert_invariants
from workers.testing.clock import Clock, frozen_clock
from workers.testing.reset_db import flush
from workers.testing.result import Aftermath, Crash, Story, Told, story
from workers.testing.subprocess_fork import Say, in_a_fork
from workers.testing.wire import IN_MEMORY, Sent, Wire, wired

#: Failures to print in full; the others are counted.
MOST_TOLD = 5

Begin = Callable[[], object]
Run = Callable[[Wire, Clock], None]
Check = Callable[[Aftermath], None]


@dataclass
class Survey:
    """The crashes that were tried."""

    crashes: list[Crash] = field(default_factory=list)

    @property
    def points(self) -> set[str]:
        return {crash.point for crash in self.crashes}


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """A run without a crash: how often it reached each point, and its journal."""

    hits: dict[str, int]
    calm: Story


class _Counting:
    """A witness that counts how often each point is reached."""

    def __init__(self) -> None:
        self.hits: Counter[str] = Counter()

    def enter(self, name: str) -> None: ...

    def reach(self, point: str) -> None:
        self.hits[point] += 1

    def leave(self, name: str) -> None: ...


class _Killing(_Counting):
    """A witness that kills its process at one point, after it has reported wire and time."""

    def __init__(self, crash: Crash, wire: Wire, say: Say) -> None:
        super().__init__()
        self._crash, self._wire, self._say = crash, wire, say

    def reach(self, point: str) -> None:
        super().reach(point)
        if point == self._crash.point and self.hits[point] == self._crash.hit:
            self._say(_remains(self._wire))
            os.kill(os.getpid(), signal.SIGKILL)


def settle(wire: Wire, clock: Clock) -> None:
    """Run the whole system until nothing is due any more."""
    wire.run_until_settled(clock)


def crash_everywhere(
    begin: Begin,
    check: Check,
    *,
    prepare: Callable[[], object] | None = None,
    run: Run = settle,
    reset: Callable[[], object] = flush,
    points: Collection[str] | None = None,
    most_hits: int = 1000,
    both_fates: bool = True,
    progress: Callable[[int, int], object] = lambda done, all_of_them: None,
) -> Survey:
    """Kill a process at every point that a scenario reaches; assert that the rest heals.

    ``prepare`` creates what must exist before.  ``begin`` starts the work, like a client that
    retries after a crash: it is called again in the process that recovers, and must not start
    the work twice.  ``run`` then carries on, in both.  ``check`` asserts what must hold in the
    end; the invariants of the state store are asserted before it.

    ``points`` names the points to kill at, without the part after the colon
    (``claim_steps.claim_due``); None: all.  ``most_hits`` limits how often each point is tried,
    from its first hit on.  Without ``both_fates`` the messages are lost after one crash and
    delivered again after the next, in turn.  ``progress`` is called after every crash.  Raises
    ``AssertionError`` that lists every crash which did not heal.
    """
    rehearsal = rehearse(begin, check, prepare=prepare, run=run, reset=reset)
    survey, failures = Survey(), []
    hits = {
        point: count
        for point, count in rehearsal.hits.items()
        if points is None or point.rpartition(":")[0] in points
    }
    crashes = _plan(hits, most_hits, both_fates)
    for crash in crashes:
        survey.crashes.append(crash)
        _begin_anew(reset, prepare)
        texts = _try(crash, begin, run, check, rehearsal.calm)
        failures += [f"{crash}:\n{text}" for text in texts]
        progress(len(survey.crashes), len(crashes))
    if failures:
        rest = f"\n... and {len(failures) - MOST_TOLD} more" if len(failures) > MOST_TOLD else ""
        first = "\n\n".join(failures[:MOST_TOLD])
        raise AssertionError(
            f"{len(failures)} of {len(survey.crashes)} crashes did not heal.\n\n{first}{rest}"
        )
    return survey


def rehearse(
    begin: Begin,
    check: Check,
    *,
    prepare: Callable[[], object] | None = None,
    run: Run = settle,
    reset: Callable[[], object] = flush,
) -> Rehearsal:
    """Run a scenario once without a crash; raise ``AssertionError`` if that fails."""
    _refuse_unless_possible()
    _begin_anew(reset, prepare)

    def act(say: Say) -> None:
        with wired() as wire, frozen_clock() as clock:
            with witnessed(_Counting()) as counting:
                begin()
                run(wire, clock)
            assert_invariants()
            check(Aftermath(None, wire, [Told.of(message) for message in wire.told], None))
            say({"hits": counting.hits, "calm": list(story().items())})

    result = in_a_fork(act)
    if result.error:
        raise AssertionError(f"It does not even run without a crash:\n{result.error}")
    calm: Story = Counter({tuple(key): count for key, count in result.message["calm"]})
    return Rehearsal(dict(result.message["hits"]), calm)


def _refuse_unless_possible() -> None:
    if not hasattr(os, "fork"):
        raise RuntimeError("Crashes need a system that forks, as Linux and macOS do.")
    if connection.in_atomic_block:
        raise RuntimeError(
            "The test runs in a transaction, which no other process can see. "
            "Use transactional_db, or TransactionTestCase."
        )
    name = str(connection.settings_dict["NAME"])
    if connection.vendor == "sqlite" and (name == ":memory:" or "mode=memory" in name):
        raise RuntimeError(
            "The test database is in this process's memory, which no other process can see. "
            'Give it a file: DATABASES["default"]["TEST"] = {"NAME": ...}.'
        )


def _begin_anew(reset: Callable[[], object], prepare: Callable[[], object] | None) -> None:
    reset()
    if prepare is not None:
        prepare()


def _plan(hits: dict[str, int], most_hits: int, both_fates: bool) -> list[Crash]:
    turns = cycle([(False,), (True,)])
    return [
        Crash(point, hit, redelivers)
        for point, count in hits.items()
        for hit in range(1, min(count, most_hits) + 1)
        for redelivers in ((False, True) if both_fates else next(turns))
    ]


def _try(crash: Crash, begin: Begin, run: Run, check: Check, calm: Story) -> Iterator[str]:
    """Yield what is wrong after a crash, if anything."""

    def act(say: Say) -> None:
        with wired() as wire, frozen_clock() as clock, witnessed(_Killing(crash, wire, say)):
            begin()
            run(wire, clock)

    result = in_a_fork(act)
    remains = result.message
    if not result.is_killed or "now" not in remains:
        yield f"the point was not reached: {result.error or 'it ran to its end'}"
        return
    with wired() as wire, frozen_clock(datetime.fromisoformat(remains["now"])) as clock:
        if crash.redelivers:
            wire.messages += [Sent(**message) for message in remains["messages"]]
        try:
            begin()
            run(wire, clock)
            assert_invariants()
            told = [Told(**message) for message in remains["told"]]
            told += [Told.of(message) for message in wire.told]
            check(Aftermath(crash, wire, told, calm))
        except Exception:  # noqa: BLE001 (any failure is reported)
            yield traceback.format_exc()


@contextmanager
def witnessed(witness: Any) -> Iterator[Any]:
    """Install a witness of every point that this process reaches in a block."""
    before, failpoints.witness = failpoints.witness, witness
    try:
        yield witness
    finally:
        failpoints.witness = before


def _remains(wire: Wire) -> dict[str, Any]:
    """Return what outlives a process: the time, its messages and the statuses it sent."""
    sent = [*wire.unacknowledged, *wire.messages, *(late for _, late in wire.delayed)]
    messages = [message for message in sent if message.task not in IN_MEMORY]
    return {
        "now": dialect.read_clock().isoformat(),
        "messages": [asdict(message) for message in messages],
        "told": [asdict(Told.of(message)) for message in wire.told],
    }
