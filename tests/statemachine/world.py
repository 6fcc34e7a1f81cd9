"""One example's world: a wire, a clock, services, and the rows, which go when it ends."""

from collections import deque
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta

from django.db import transaction

from tests.statemachine.services import Services
from tests.statemachine.soundness import Soundness
from workers import scheduler, supervisor
from workers.client import operations
from workers.client.submission import submit
from workers.definitions import registry
from workers.models import Process, Step
from workers.store.flow import holds
from workers.testing import Sent, Wire, always, frozen_clock, passes, scripted, wired
from workers.testing.faults import Mishap
from workers.wire import dispatch

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


class World:
    def __init__(self) -> None:
        self._stack = ExitStack()
        # Much cheaper than deleting, and it leaves nothing that another example could see.
        self._stack.callback(transaction.savepoint_rollback, transaction.savepoint())
        self.wire: Wire = self._stack.enter_context(wired())
        self.clock = self._stack.enter_context(frozen_clock(NOON))
        self.services = Services()
        agents = [agent.name for agent in registry.agents() if agent.name.startswith("toy.")]
        self._stack.enter_context(
            scripted(
                {name: [always(self.services.answering(name))] for name in agents},
                probes={name: [always(self.services.probed(name))] for name in agents},
            )
        )
        #: What happens to the next messages.
        self.mishaps: deque[Mishap] = deque()
        self.wire.carry = self._carry
        self.soundness = Soundness(self.services, self.clock)
        self.processes: list[Process] = []
        #: Moves until the broker is back.
        self._down_for = 0

    def close(self) -> None:
        self._stack.close()

    def _carry(self, wire: Wire, message: Sent) -> None:
        (self.mishaps.popleft() if self.mishaps else passes)(wire, message)

    def submit(self, workflow: str) -> None:
        number = len(self.processes) + 1
        subject = f"Toy {number}"
        self.services.workflows[subject] = workflow
        given = {
            "n": number,
            "maybe": number % 2 == 0,
            "day": (NOON + timedelta(days=2)).isoformat(),
        }
        self.processes.append(submit(workflow, subject=subject, input=given))
        # As after the commit, which no example comes to.
        dispatch.wake_scheduler()

    def process(self, place: int) -> Process:
        return self.processes[place % len(self.processes)]

    def step(self, process: Process, place: int) -> Step:
        steps = list(Step.objects.filter(process=process).order_by("position"))
        return steps[place % len(steps)]

    def undone_by(self, step: Step) -> str | None:
        """Return the key of what an undo step undoes."""
        return None if step.undoes is None else step.undoes.idempotency_key

    def do_by_hand(self, step: Step, undoes: str | None) -> None:
        """Have an operator do what a step was to do, at the service, where it is not done."""
        subject = Process.objects.get(pk=step.process_id).subject
        if undoes is None and self.is_done(step):
            return
        payload = {} if undoes is None else {"undoes": undoes}
        self.services.take_effect(step.agent, subject, step.idempotency_key, payload)

    def is_done(self, step: Step) -> bool:
        return bool(self.services.live(step.idempotency_key))

    def is_unclear(self, step: Step) -> bool:
        """Say whether even the service cannot tell yet."""
        return self.services.is_on_its_way(step.idempotency_key)

    def run_for(self, seconds: float) -> None:
        """Run everything for a time."""
        self.wire.run_for(self.clock, seconds=seconds)
        self.sweep()
        self.poll()

    def lose_the_broker_for(self, moves: int) -> None:
        self.wire.is_down = True
        self._down_for = moves

    def come_closer_to_the_broker_s_return(self) -> None:
        self.wire.is_down = self._down_for > 0
        self._down_for -= 1

    def sweep(self) -> None:
        if supervisor.sweep().had_lease:
            self.soundness.swept()

    def poll(self) -> None:
        scheduler.advance()
        self.soundness.polled()

    def check(self) -> None:
        wrong = self.soundness.wrong()
        assert not wrong, "\n".join(wrong)

    def check_the_end(self) -> None:
        """Let everything come to its end, without new mishaps, and look at what came of it."""
        self.wire.is_down = False
        self.mishaps.clear()
        for kind, name in sorted(holds.current()):
            holds.lift(kind, name, actor="operator:ann", reason="the end")
        for process in Process.objects.exclude(paused_at=None).filter(finished_at=None):
            operations.resume(process.pk, actor="operator:ann", reason="the end")
        self.wire.run_until_settled(self.clock)
        self.soundness.swept()
        self.soundness.polled()
        wrong = self.soundness.wrong_at_the_end()
        while self.services.hung:
            self.services.let_hung_call_arrive(0)
        wrong += self.soundness.wrong_at_the_end()
        assert not wrong, "\n".join(wrong)
