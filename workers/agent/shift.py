"""A shift: the calls of one agent process, from a wake-up until it is idle again.

Each round hands over the calls that have ended, and then takes due steps: it claims and starts, in
one write, as many as its threads can begin.  So no answer waits for new work, and a long call keeps
the process from taking no other.  A call that must have the process to itself waits until it is
idle: then one process of a worker takes no other work for a while.  Beside queues of the
application a shift ends after a while, so that other tasks of the process get their turn.

Only the rows count: if the process dies, its claims expire, and settled replies stay settled.
"""

import logging
import os
import signal
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from time import monotonic, sleep

from celery.exceptions import SoftTimeLimitExceeded
from django.db import InterfaceError, OperationalError

from workers import scheduler
from workers.agent import call_pool, replies, runner
from workers.agent.call_pool import Calls, EndedCall, Work
from workers.definitions import registry
from workers.definitions.agent import Agent, Deadline
from workers.exceptions import first_line
from workers.protocol.messages import Reply
from workers.runtime import db_connections, worker_pulse
from workers.runtime.soft_limit import soft_limit_after, soft_limit_masked
from workers.runtime.worker_identity import me
from workers.store.claims import release
from workers.store.claims.claim_steps import Claim, Room
from workers.wire import dispatch, queue_drain

#: How long a process takes work if its worker serves only the engine's and agents' queues: calls
#: that end within the soft limit of its task.
TAKING_SECONDS = dispatch.TAKING_LIMIT_SECONDS
#: The same if the worker serves other queues, whose messages wait for a process.
BESIDE_OTHERS_SECONDS = 2.0
#: The same if the process cannot see that its worker is ending.
UNTOLD_SECONDS = 1.0
#: How often the processes of a worker look into their queue, all together.
LOOK_SECONDS = 0.005
LEAST_LOOK_SECONDS = 0.01
#: How often a shift looks for messages of other roles, if its worker serves their queues.
ROLES_SECONDS = 0.25
#: Pause in taking work after the database or the broker was unavailable.
PAUSE_SECONDS = 1.0
#: The most wake-ups that one look into a queue takes: one taking of due steps answers them all.
MOST_WAKE_UPS = 100
#: Least time between two wake-ups for steps that this process has no room for.
WAKE_OTHERS_SECONDS = 0.25
#: Time for which a process takes nothing because a step needs it for itself, at least and at most
#: (its calls have ended by then), and how long it then leaves that to others.
CLOSING_SECONDS, MOST_CLOSING_SECONDS = 2.0, float(dispatch.LONGEST_TIMEOUT_SECONDS)
CLOSED_SECONDS = 10.0
#: How long a call may run past its complete-by before its process is killed.
OVERSTAY_SECONDS = dispatch.HARD_LIMIT_MARGIN_SECONDS

log = logging.getLogger(__name__)

#: What runs the messages of the engine's other roles, by task.
Roles = Mapping[str, Callable[[], object]]


def take(queue: str, roles: Roles | None = None) -> None:
    """Take due steps of a queue, and go on until this process is idle again.

    ``roles`` are the tasks of the worker's other queues, run meanwhile: calls may be long.
    """
    shift = Shift(queue, roles)
    shift.look_for_due()
    shift.take_due()
    shift.work()


class Shift:
    """The calls of one task; see the module."""

    def __init__(self, queue: str, roles: Roles | None = None) -> None:
        self._queue, self._roles = queue, roles or {}
        self._calls = Calls(_make)
        self._pulse = worker_pulse.pulse
        self._began = monotonic()
        self._taking_seconds = self._how_long()
        self._look_at = self._began + self._look_seconds()
        self._roles_at = self._wake_others_at = 0.0
        #: No taking before this: broker or database do not answer.
        self._rest_until = 0.0
        #: Answers that the database did not take, and when to try them again.
        self._kept: dict[Agent, list[Reply]] = {}
        self._again_at = 0.0
        #: Agents that may have due steps to take.
        self._due: set[str] = set()
        #: When a due step may get a token of its agent's rate; 0.0: none waits for one.
        self._token_at = 0.0
        #: Until when this process takes nothing until it is idle, because a due step needs it for
        #: itself; and before when it does not try that again.
        self._closes_until = self._closes_after = 0.0
        #: Calls that have the process to themselves, one after the other.
        self._alone: list[Work] = []
        #: Starts whose answer was lost, each with those of its steps that were called.
        self._unanswered: list[Room] = []

    def work(self) -> None:
        """Make the calls and take more, until all have ended."""
        try:
            while self._has_work() and not (self._calls.left and self._calls.are_all_overdue()):
                self._go_on()
        except SoftTimeLimitExceeded:
            log.warning("soft_limit_reached", extra={"silent": self._calls.left})
        for answers in self._kept.values():
            replies.hand_over_at_last(answers, self._settle_here)
        if self._calls.left:
            self._outstay()
        self._release_unanswered()
        self._end()

    def _go_on(self) -> None:
        """Hand over what has ended, then take more: each once, so that neither waits for long."""
        if self._alone:
            self._call_alone(self._alone.pop(0))
        self._hand_over(self._calls.take(self._seconds_to_wait()))
        self._close()
        self._release_unanswered()
        self._take_messages()
        if self._token_at and monotonic() >= self._token_at:
            # Not to wait for it again: what is due stays so until a taking has room.
            self._token_at = 0.0
            self.look_for_due()
        if self._due and monotonic() >= self._rest_until:
            self.take_due()

    def _has_work(self) -> bool:
        return bool(self._alone or self._kept or self._calls.left)

    # Taking work

    def _how_long(self) -> float:
        if self._pulse is None:
            return UNTOLD_SECONDS
        known = registry.queues() | dispatch.QUEUES
        return TAKING_SECONDS if set(self._pulse.queues) <= known else BESIDE_OTHERS_SECONDS

    def _look_seconds(self) -> float:
        processes = self._pulse.processes if self._pulse else 1
        return max(LEAST_LOOK_SECONDS, LOOK_SECONDS * processes)

    def _is_on(self) -> bool:
        """Say whether this process takes more work at all."""
        return (
            monotonic() - self._began < self._taking_seconds
            and (self._pulse is None or self._pulse.is_beating())
            and not self._calls.has_overdue()
        )

    def _seconds_left(self) -> float:
        """Return the time until the soft limit of this task, by which each call must have ended."""
        return dispatch.TAKING_LIMIT_SECONDS - (monotonic() - self._began)

    def _queues(self) -> list[str]:
        served = set(self._pulse.queues) & registry.queues() if self._pulse else set()
        return sorted(served) or [self._queue]

    def _agents(self) -> set[str]:
        return registry.of_queues(self._queues())

    def _room(self) -> Room:
        is_idle = not self._has_work()
        is_on = self._is_on() and not self._alone and (is_idle or not self._closes_until)
        queues = self._queues()

        def calls(name: str) -> int:
            agent = registry.agent(name) if is_on and registry.has_agent(name) else None
            return self._calls.room(agent) if agent and agent.queue in queues else 0

        return Room(
            me("agent"),
            calls,
            self._seconds_left(),
            is_idle=is_idle,
            is_for_one=is_idle and self._closes_until > 0.0,
        )

    def look_for_due(self) -> None:
        """Have the next taking look for due steps of all agents that this process may call."""
        self._due |= self._agents()

    def take_due(self) -> None:
        """Claim due steps, as many as this process can begin to call, and begin."""
        room, began = self._room(), monotonic()
        if not any(map(room.left, self._due)):
            # They stay due: whichever call ends makes room.
            self._wake_others()
            return
        agents, self._due, self._token_at = self._due, set(), 0.0
        with soft_limit_masked():
            claims = scheduler.take_due(agents, room)
            try:
                self._begin(claims, room, began)
            except Exception:
                # They are given back; calls that are under way go on.
                log.exception("calls_not_begun", extra={"claims": len(claims)})
            if not room.is_answered:
                self._due |= agents
                self._rest(PAUSE_SECONDS)
        if room.rate_seconds is not None:
            self._token_at = monotonic() + room.rate_seconds
        if room.is_used_up or room.lone_seconds is not None:
            self._wake_others()
        if room.is_for_one and not claims:
            self._closes_until = 0.0
            self.look_for_due()
            if room.lone_seconds is None:
                # No step needs the process for itself any more.
                self.take_due()
            else:
                # The next shift has more time.
                self._taking_seconds = 0.0
        elif room.lone_seconds is not None:
            self._begin_to_close(min(max(CLOSING_SECONDS, room.lone_seconds), MOST_CLOSING_SECONDS))

    # A call that has the process to itself

    def _begin_to_close(self, seconds: float) -> None:
        """Take nothing until this process is idle, unless another one of the worker does that."""
        now = monotonic()
        if self._closes_until or now < self._closes_after:
            return
        if self._pulse is None or self._pulse.close(seconds):
            self._closes_until = now + seconds

    def _close(self) -> None:
        """Once idle, take the step; give up after a while, so that another process tries."""
        if not self._closes_until:
            return
        if not self._has_work():
            self.look_for_due()
        elif monotonic() >= self._closes_until:
            self._closes_until, self._closes_after = 0.0, monotonic() + CLOSED_SECONDS
            self.look_for_due()

    def _wake_others(self) -> None:
        """Wake others for what this process leaves: rarely, but late rather than never."""
        at = self._wake_others_at
        self._wake(at)
        if at <= monotonic():
            self._wake_others_at = monotonic() + WAKE_OTHERS_SECONDS

    def _wake(self, at: float) -> None:
        """Wake processes of the queues, at an instant or now."""
        seconds = at - monotonic()
        for queue in self._queues():
            if seconds > 0.0:
                dispatch.wake_agents_after(queue, seconds)
            else:
                dispatch.wake_agents_later(queue)

    def _rest(self, seconds: float) -> None:
        """Take nothing for a while."""
        self._rest_until = self._look_at = monotonic() + seconds

    def _take_messages(self) -> None:
        """Take the wake-ups of each queue, and now and then messages of other roles."""
        if not self._is_on() or monotonic() < self._look_at:
            return
        self._look_at = monotonic() + self._look_seconds()
        # A wake-up that this process cannot answer is for another one.
        room = self._room()
        has_room = any(map(room.left, self._agents()))
        for queue in self._queues() if has_room else ():
            began = monotonic()
            is_woken = queue_drain.take_all(queue, dispatch.TAKE, MOST_WAKE_UPS)
            if is_woken or is_woken is None:
                self.look_for_due()
            if is_woken is None:
                # Answers of calls wait meanwhile: the longer a look takes, the rarer it is.
                cost = monotonic() - began
                self._look_at = monotonic() + max(PAUSE_SECONDS, 4 * cost)
                return
        if self._pulse is not None and self._roles and monotonic() >= self._roles_at:
            self._roles_at = monotonic() + ROLES_SECONDS
            for queue in sorted(set(self._pulse.queues) & dispatch.QUEUES):
                if name := queue_drain.take_one(queue, self._roles):
                    self._run_role(name)

    def _run_role(self, name: str) -> None:
        try:
            with soft_limit_masked():
                self._roles[name]()
        except Exception:
            # Its timer brings it again.
            log.exception("role_failed", extra={"task": name})

    # Making calls

    def _begin(self, claims: Sequence[Claim], room: Room, began: float) -> None:
        """Make the calls of the claims that this process has started."""
        try:
            requests = scheduler.requests_of(claims) if claims else []
            room.begun = {claim.step_id for claim in claims}
        except BaseException:
            room.is_answered = False
            raise
        finally:
            if not room.is_answered:
                self._unanswered.append(room)
        works: dict[str, list[Work]] = defaultdict(list)
        for claim, request in requests:
            deadline = Deadline(claim.timeout_seconds, began)
            work = Work(registry.agent(claim.agent), request, deadline, claim.is_rated)
            if claim.is_alone:
                self._alone.append(work)
            else:
                works[claim.agent].append(work)
        for of_agent in works.values():
            self._calls.begin(of_agent)

    def _call_alone(self, work: Work) -> None:
        """Make a call that has the process to itself, here in the main thread."""
        reply: Reply | None = None
        try:
            # Celery's limit for this task is later.
            with soft_limit_after(work.deadline.remaining()):
                reply = _make(work, runner.IN_MAIN_THREAD)
        except SoftTimeLimitExceeded:
            log.warning("soft_limit_reached", extra={"agent": work.agent.name, "silent": 1})
        self._hand_over([EndedCall(work, reply)])

    # Handing over replies

    def _hand_over(self, ended: Sequence[EndedCall]) -> None:
        answers: dict[Agent, list[Reply]] = defaultdict(list)
        filed = []
        for call in ended:
            if call.work.agent.is_local:
                filed.append(call.work.request.step_id)
            elif call.reply is not None:
                answers[call.work.agent].append(call.reply)
        replies.hand_over_filed(filed, self._settle_here)
        is_again = monotonic() >= self._again_at
        for agent in list(self._kept):
            if is_again:
                answers[agent] = self._kept.pop(agent) + answers[agent]
            else:
                self._kept[agent] += answers.pop(agent, [])
        for agent, agent_answers in answers.items():
            if left := replies.hand_over(agent_answers, self._settle_here):
                self._kept[agent] = list(left)
                self._again_at = monotonic() + replies.AGAIN_SECONDS

    def _settle_here(self, batch: Sequence[Reply]) -> None:
        """Settle replies, and start next steps here while there is room."""
        room, began = self._room(), monotonic()
        try:
            result = scheduler.settle(batch, own_room=room)
        except BaseException:
            room.is_answered = False
            self._unanswered.append(room)
            raise
        own = self._agents()
        self._due |= result.waited_for & own
        scheduler.wake(result.waited_for - own)
        self._begin(result.claims, room, began)

    def _release_unanswered(self) -> None:
        """Release claims started by writes whose answers were lost: no call is made for them."""
        try:
            while self._unanswered:
                room = self._unanswered[-1]
                if release.unbegun(room.delivery, room.begun, me("agent")):
                    self.look_for_due()
                self._unanswered.pop()
        except (OperationalError, InterfaceError):
            # They expire, which costs an attempt each.
            log.warning("unanswered_claims_left", exc_info=True)

    # Ending

    def _seconds_to_wait(self) -> float:
        if self._alone or not (self._calls.left or self._kept):
            return 0.0
        wait = 1.0
        if self._kept:
            wait = min(wait, max(0.0, self._again_at - monotonic()))
        if self._is_on() and self._pulse is not None:
            wait = min(wait, max(0.0, self._look_at - monotonic()))
        if self._token_at:
            wait = min(wait, max(0.0, self._token_at - monotonic()))
        return wait

    def _end(self) -> None:
        """Leave what is due to the next shift, of any process."""
        if self._due:
            self._wake(self._rest_until)
        elif self._token_at:
            self._wake(self._token_at)

    def _outstay(self) -> None:
        """Keep the process while calls run past their deadline, and send no replies for them.

        A client with a total deadline ends them at once.  One without it is ended with its process,
        which its worker replaces.
        """
        names = self._calls.overdue_agents()
        log.warning("deadline_passed", extra={"agents": names, "calls": self._calls.left})
        call_pool.threads.drop()
        self._calls.give_up()
        while self._calls.left:
            try:
                self._calls.take(1)
            except SoftTimeLimitExceeded:
                sleep(0.05)
            if self._pulse is not None and self._calls.overdue_seconds() > OVERSTAY_SECONDS:
                log.error("process_ended_for_calls", extra={"agents": names})
                os.kill(os.getpid(), signal.SIGKILL)


def _make(
    work: Work, crashes: tuple[type[BaseException], ...] = runner.IN_A_THREAD
) -> Reply | None:
    if not work.agent.is_local:
        return runner.call(work, crashes)
    try:
        # Uses the thread's own connection.
        with db_connections.kept():
            runner.perform_local(work)
    except (OperationalError, InterfaceError) as error:
        # Its claim expires, or its reply was filed after all.
        log.warning("database_away", extra={"reason": first_line(error)})
    return None
