"""The moves: whatever may happen to the engine, in any order.

A new one is a method under ``@move``: its arguments are drawn, and the whole is looked at after
it.  ``self.world`` has the wire, the clock, the services and the processes.
"""

from collections.abc import Callable
from datetime import timedelta
from functools import wraps
from typing import Any

from django.db.models import QuerySet
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from tests.statemachine.services import OUTCOMES
from tests.statemachine.world import World
from workers.client import callbacks, operations
from workers.exceptions import StateError, Transient
from workers.models import Alert, Journal, Process, Step
from workers.store.db import dialect
from workers.store.flow import holds
from workers.testing import delays, doubles, drops, overtakes, refuses, takes_and_refuses
from workers.testing.agent_processes import CALL
from workers.wire import dispatch

WORKFLOWS = (
    "toy_undoable",
    "toy_line",
    "toy_diamond",
    "toy_optional",
    "toy_fallback_undo",
    "toy_chain_of_fallbacks",
    "toy_unsafe_fallback",
    "toy_waiting",
    "toy_local",
    "toy_parallel",
    "toy_narrow",
    "toy_answered",
    "toy_conditional",
    "toy_unwanted",
    "toy_delayed",
    "toy_asking",
    "toy_dated",
    "toy_queried",
    "toy_in_all",
    "toy_event",
)
MOST_PROCESSES = 4

places = st.integers(0, 7)
# A third of them good: a process must come far enough for the bad ones to matter.
outcomes = st.lists(st.sampled_from([*["result"] * 6, *OUTCOMES]), min_size=20, max_size=60)
#: How many changes ago an operator has looked.
ages = st.sampled_from([0, 0, 0, 1])
mishaps = st.lists(
    st.sampled_from([drops, doubles, delays(50), overtakes, refuses, takes_and_refuses]),
    min_size=1,
    max_size=3,
)


def move(when: Callable[["Engine"], Any] = lambda self: True, **drawn: Any) -> Callable:
    """Declare a rule that may run ``when`` that is so, and after which all must be sound."""

    def declare(function: Callable[..., None]) -> Callable[..., None]:
        @wraps(function)
        def run(self: "Engine", **arguments: Any) -> None:
            self.is_sound = False
            function(self, **arguments)
            self.world.check()
            self.world.come_closer_to_the_broker_s_return()
            self.is_sound = True

        return precondition(when)(rule(**drawn)(run))

    return declare


def at_work() -> QuerySet[Step]:
    """Return the steps whose agents have begun and not answered: they hang, or have died."""
    return Step.objects.filter(state="processing", started_at__isnull=False, deferral=None)


class Engine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.world = World()
        self.is_sound = True

    def teardown(self) -> None:
        try:
            # Not after a failure: that is the one to be told of.
            if self.is_sound:
                self.world.check_the_end()
        finally:
            self.world.close()

    # Submitters

    @initialize(workflow=st.sampled_from(WORKFLOWS), outcomes=outcomes)
    def begin(self, workflow: str, outcomes: list[str]) -> None:
        self.world.services.outcomes.extend(outcomes)
        self.world.submit(workflow)

    @move(
        when=lambda self: len(self.world.processes) < MOST_PROCESSES,
        workflow=st.sampled_from(WORKFLOWS),
    )
    def submit(self, workflow: str) -> None:
        self.world.submit(workflow)

    # Messages

    def message(self, place: int) -> Any:
        messages = self.world.wire.messages
        return messages[place % len(messages)]

    @move(when=lambda self: self.world.wire.messages, place=places)
    def deliver(self, place: int) -> None:
        self.world.wire.deliver(self.message(place))

    @move(when=lambda self: self.world.wire.messages)
    def deliver_what_is_there(self) -> None:
        for message in list(self.world.wire.messages):
            self.world.wire.deliver(message)

    @move(when=lambda self: self.world.wire.messages, place=places)
    def deliver_to_two(self, place: int) -> None:
        message = self.message(place)
        self.world.wire.deliver(message)
        # A process makes its calls once.
        if message.task != CALL:
            self.world.wire.deliver(message)

    @move(when=lambda self: self.world.wire.messages, place=places)
    def lose(self, place: int) -> None:
        self.world.wire.messages.remove(self.message(place))

    @move(
        when=lambda self: self.world.wire.messages,
        place=places,
        seconds=st.sampled_from([20, 50, 400]),
    )
    def delay(self, place: int, seconds: float) -> None:
        message = self.message(place)
        self.world.wire.messages.remove(message)
        delays(seconds)(self.world.wire, message)

    @move(when=lambda self: self.world.wire.messages, place=places)
    def double(self, place: int) -> None:
        message = self.message(place)
        self.world.wire.messages.remove(message)
        doubles(self.world.wire, message)

    @move(mishaps=mishaps)
    def have_mishaps_ahead(self, mishaps: list[Any]) -> None:
        self.world.mishaps.extend(mishaps)

    @move(moves=st.integers(1, 4))
    def lose_the_broker_for(self, moves: int) -> None:
        self.world.lose_the_broker_for(moves)

    # Services

    @move(when=lambda self: self.world.services.hung, place=places)
    def let_a_hung_call_arrive(self, place: int) -> None:
        self.world.services.let_hung_call_arrive(place)

    # Time and duties

    @move(seconds=st.sampled_from([0.5, 2, 6, 16, 32]))
    def let_time_pass(self, seconds: float) -> None:
        self.world.clock.advance(seconds=seconds)

    @move(seconds=st.sampled_from([301, 3700, 7300, 100_000]))
    def be_away_for_long(self, seconds: float) -> None:
        self.world.clock.advance(seconds=seconds)

    @move()
    def sweep(self) -> None:
        self.world.sweep()

    @move()
    def poll(self) -> None:
        self.world.poll()

    @move()
    def run_until_idle(self) -> None:
        self.world.run_for(0)

    @move(seconds=st.sampled_from([2, 20, 60, 400]))
    def run_for(self, seconds: float) -> None:
        self.world.run_for(seconds)

    # Answers from outside

    @move(
        when=lambda self: Step.objects.filter(deferral__isnull=False).exists(),
        place=places,
        is_good=st.booleans(),
    )
    def answer(self, place: int, is_good: bool) -> None:
        steps = list(Step.objects.filter(deferral__isnull=False).order_by("pk"))
        step = steps[place % len(steps)]
        if is_good:
            callbacks.complete_step(step.process_id, step.name, {"size": 11}, actor="callback")
        else:
            fault = Transient("gone_wrong", "somewhere on the way")
            callbacks.fail_step(step.process_id, step.name, fault, actor="callback")

    # Operators.  They are honest: what they say of a service is so.

    def order(
        self, verb: Callable[..., Any], process: Process, age: int, *words: Any, **more: Any
    ) -> bool:
        """Give an order about a process as it was; False: refused, and nothing was changed."""
        process.refresh_from_db()
        before = self.rows()
        told = {"actor": "operator:ann", "reason": "because"}
        try:
            verb(process.pk, *words, sequence=process.sequence - age, **told, **more)
        except StateError:
            assert self.rows() == before
            return False
        assert age == 0, "an order was carried out that was about an older state"
        dispatch.wake_scheduler()
        return True

    def rows(self) -> list[Any]:
        steps = Step.objects.order_by("pk").values_list("pk", "state", "claim_id", "not_before")
        return [*steps, Journal.objects.count(), Alert.objects.count()]

    @move(place=places, age=ages)
    def resubmit(self, place: int, age: int) -> None:
        process = self.world.process(place)
        failed = Step.objects.filter(process=process, state="error")
        nothing = not any(self.world.is_done(s) or self.world.is_unclear(s) for s in failed)
        self.order(operations.resubmit, process, age, nothing_happened=nothing)

    @move(place=places, age=ages, outcome=st.sampled_from(["cancelled", "compensated"]))
    def undo(self, place: int, age: int, outcome: str) -> None:
        self.order(operations.undo, self.world.process(place), age, outcome=outcome)

    @move(when=lambda self: at_work().exists(), place=places)
    def undo_what_is_at_work(self, place: int) -> None:
        steps = list(at_work().order_by("pk"))
        process = Process.objects.get(pk=steps[place % len(steps)].process_id)
        self.order(operations.undo, process, 0, outcome="cancelled")

    @move(place=places, step=places, age=ages)
    def begin_again(self, place: int, step: int, age: int) -> None:
        process = self.world.process(place)
        self.order(operations.begin_again, process, age, self.world.step(process, step).name)

    @move(place=places, age=ages)
    def pause_or_resume(self, place: int, age: int) -> None:
        process = self.world.process(place)
        if not self.order(operations.pause, process, age):
            self.order(operations.resume, process, age)

    @move(place=places, step=places, age=ages, twice=st.booleans())
    def redo(self, place: int, step: int, age: int, twice: bool) -> None:
        process = self.world.process(place)
        name = self.world.step(process, step).name
        self.order(operations.redo, process, age, name, may_happen_twice=twice)

    @move(place=places, step=places)
    def retry_now(self, place: int, step: int) -> None:
        process = self.world.process(place)
        self.order(operations.retry, process, 0, self.world.step(process, step).name)

    @move(place=places, step=places, seconds=st.sampled_from([1, 10, 300]))
    def retime(self, place: int, step: int, seconds: int) -> None:
        process = self.world.process(place)
        self.order(operations.retime, process, 0, self.world.step(process, step).name, seconds)

    @move(place=places, step=places, seconds=st.sampled_from([1, 10, 300]))
    def postpone(self, place: int, step: int, seconds: int) -> None:
        process = self.world.process(place)
        until = dialect.read_clock() + timedelta(seconds=seconds)
        self.order(operations.postpone, process, 0, self.world.step(process, step).name, until)

    @move(place=places, step=places)
    def skip(self, place: int, step: int) -> None:
        process = self.world.process(place)
        self.order(operations.skip, process, 0, self.world.step(process, step).name)

    @move(place=places, step=places)
    def complete(self, place: int, step: int) -> None:
        process = self.world.process(place)
        chosen = self.world.step(process, step)
        if self.world.is_unclear(chosen):
            return
        # Before: once its undo is done a step may begin again, under another key.
        undoes = self.world.undone_by(chosen)
        if self.order(operations.complete, process, 0, chosen.name, {"size": 11}):
            self.world.do_by_hand(chosen, undoes)

    @move(agent=st.sampled_from(["toy.alpha", "toy.beta", "toy.undoer"]))
    def hold_or_lift(self, agent: str) -> None:
        is_held = ("agent", agent) in holds.current()
        verb = holds.lift if is_held else holds.hold
        verb("agent", agent, actor="operator:ann", reason="because")
