"""Agent processes of a test: any number of them, each step of theirs under the test's control."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

from workers import scheduler
from workers.agent import replies, runner
from workers.agent.call_pool import Work
from workers.definitions import registry
from workers.definitions.agent import Deadline, margin_seconds
from workers.exceptions import DeadlinePassed
from workers.protocol.messages import Reply
from workers.runtime.worker_identity import me
from workers.store.claims.claim_steps import Claim, Room
from workers.store.db import dialect

if TYPE_CHECKING:
    from workers.testing.wire import Wire

#: On the wire: the calls of claims that a process has started, and replies that it has to settle.
CALL, REPLY = "a process calls", "a process settles"
#: Agent processes that a wire simulates, on every queue: enough for any window.
PROCESSES = 10_000


class HeldDeadline(Deadline):
    """A deadline that passes on the test's clock until the call begins, and then in real time."""

    def __init__(self, timeout_seconds: int) -> None:
        super().__init__(timeout_seconds)
        self._timeout_seconds = timeout_seconds
        self._held_until = dialect.frozen_at and dialect.frozen_at + timedelta(
            seconds=timeout_seconds - margin_seconds(timeout_seconds)
        )

    def begin(self) -> None:
        """Have the real time begin: processes make their calls side by side, a test in turn."""
        super().__init__(self._timeout_seconds)

    def check(self) -> None:
        is_over = self._held_until and dialect.frozen_at and dialect.frozen_at >= self._held_until
        if is_over:
            raise DeadlinePassed("the time of this claim is over")
        super().check()


def room(*, is_for_one: bool = False) -> Room:
    """Return the room of an idle process that can make any number of calls."""
    return Room(me("agent"), lambda agent: PROCESSES, is_idle=True, is_for_one=is_for_one)


def take(wire: Wire, queue: str) -> None:
    """Take all due steps of a queue, for as many processes as that needs."""
    agents = registry.of_queues([queue])
    is_for_one = False
    while True:
        here = room(is_for_one=is_for_one)
        claims = scheduler.take_due(agents, here)
        begin(wire, claims)
        if not claims and is_for_one:
            return
        is_for_one = here.lone_seconds is not None or is_for_one
        if not claims and not is_for_one:
            return


def begin(wire: Wire, claims: Sequence[Claim]) -> None:
    """Have processes hold the calls of claims that were started for them."""
    wire.moves += len(claims)
    groups: dict[tuple[str, int, bool], list[Work]] = defaultdict(list)
    for claim, request in scheduler.requests_of(claims) if claims else ():
        deadline = HeldDeadline(claim.timeout_seconds)
        work = Work(registry.agent(claim.agent), request, deadline, claim.is_rated)
        groups[claim.agent, claim.timeout_seconds, claim.is_alone].append(work)
    for (name, *_), works in groups.items():
        wire.hold(CALL, works, registry.agent(name).queue)


def call(wire: Wire, works: Sequence[Work]) -> None:
    """Make calls, and hold their replies."""
    answers: list[Reply] = []
    for work in works:
        if isinstance(work.deadline, HeldDeadline):
            work.deadline.begin()
        if work.agent.is_local:
            if runner.perform_local(work):
                replies.hand_over_filed([work.request.step_id], settle_here(wire))
        elif (reply := runner.call(work, runner.IN_MAIN_THREAD)) is not None:
            answers.append(reply)
    if answers:
        wire.hold(REPLY, answers, works[0].agent.queue)


def settle(wire: Wire, answers: Sequence[Reply]) -> None:
    """Settle replies, and hold the calls of the next steps."""
    if left := replies.hand_over(answers, settle_here(wire)):
        wire.hold(REPLY, left, "")


def settle_here(wire: Wire) -> replies.SettleHere:
    """Return what settles replies in a process."""

    def settle_in(batch: Sequence[Reply]) -> None:
        result = scheduler.settle(batch, own_room=room())
        scheduler.wake(result.waited_for)
        begin(wire, result.claims)

    return settle_in
