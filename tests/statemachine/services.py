"""The remote services as the world outside sees them: what was done, once or twice or never."""

from collections import Counter, deque
from collections.abc import Callable
from typing import Any

from django.contrib.auth.models import Group

from workers.definitions import registry
from workers.definitions.agent import Call, Deferred
from workers.definitions.effects import Effect
from workers.definitions.workflow import StepSpec
from workers.exceptions import DeadlinePassed, Permanent, Refused, Transient, Unavailable
from workers.models import Step
from workers.states import StepState
from workers.testing import WorkerDied

#: (agent, idempotency key of a forward step)
Place = tuple[str, str]
Answer = dict[str, Any] | Deferred | None


class Services:
    """Every service in one ledger: effects by the agent that asked for them, and their key.

    They honour keys: the same key has one effect, an undo removes the effect of the key it
    names, or leaves a tombstone that keeps it from ever coming.  Only the services of unsafe
    and queryable agents know no keys; the latter can be asked.
    """

    def __init__(self) -> None:
        self.effects: Counter[Place] = Counter()
        self.tombstones: set[Place] = set()
        #: Calls that a service has accepted and not come to yet: their effect comes late.
        self.hung: list[tuple[str, Call]] = []
        #: What no service should have been asked.
        self.complaints: list[str] = []
        #: What the next calls come to; a result, once these are over.
        self.outcomes: deque[str] = deque()
        #: subject -> workflow, as submitted.
        self.workflows: dict[str, str] = {}
        self._payloads: dict[Place, dict[str, Any]] = {}
        self._attempts: set[tuple[str, str, int]] = set()

    def answering(self, agent: str) -> Callable[[Call], Answer]:
        """Return what stands in for an agent's ``run``."""

        def run(call: Call) -> Answer:
            self._notice(agent, call)
            outcome = self.outcomes.popleft() if self.outcomes else "result"
            return OUTCOMES[outcome](self, agent, call)

        return run

    def probed(self, agent: str) -> Callable[[Call], Answer]:
        """Return what stands in for an agent's ``probe``: the truth, where it is known."""

        def probe(call: Call) -> Answer:
            if self.is_on_its_way(call.key):
                raise Transient("still_on_it", "nobody can tell yet")
            return _result(agent) if self.live(call.key) else None

        return probe

    def live(self, key: str) -> dict[str, int]:
        """Return the effects that stand under a key: agent -> how often."""
        return {agent: n for (agent, known), n in self.effects.items() if known == key and n}

    def is_on_its_way(self, key: str) -> bool:
        return any(call.key == key for _, call in self.hung)

    def undoer(self, subject: str, key: str, agent: str) -> str | None:
        """Return the agent that undoes what another one did under a key."""
        spec = self.spec(subject, key)
        undoers = {one.agent: one.undo_agent for one in spec.fallbacks}
        undoers[spec.agent] = spec.undo.agent if spec.undo else None
        return undoers[agent]

    def spec(self, subject: str, key: str) -> StepSpec:
        return registry.workflow(self.workflows[subject]).steps[int(key.split(":")[1])]

    def let_hung_call_arrive(self, place: int) -> None:
        agent, call = self.hung.pop(place % len(self.hung))
        self.take_effect(agent, call.subject, call.key, call.payload)

    def take_effect(self, agent: str, subject: str, key: str, payload: dict[str, Any]) -> bool:
        """Do what a call asks for.  False: an undo came first, nothing was done."""
        effect = registry.agent(agent).effect
        if "undoes" in payload:
            self._undo(agent, subject, payload["undoes"])
        elif (agent, key) in self.tombstones:
            return False
        elif registry.agent(agent).is_local:
            if Group.objects.filter(name=key).exists():
                self.complaints.append(f"{key} was written twice")
            Group.objects.create(name=key)
        elif effect in (Effect.UNSAFE, Effect.QUERYABLE):
            self.effects[agent, key] += 1
        elif effect != Effect.NONE:
            self.effects[agent, key] = 1
        return True

    def _undo(self, undoer: str, subject: str, key: str) -> None:
        spec = self.spec(subject, key)
        for agent in {spec.agent, *(fallback.agent for fallback in spec.fallbacks)}:
            if self.undoer(subject, key, agent) == undoer:
                self.effects.pop((agent, key), None)
                self.tombstones.add((agent, key))

    def _notice(self, agent: str, call: Call) -> None:
        place = (agent, call.key)
        if self._payloads.setdefault(place, call.payload) != call.payload:
            self.complaints.append(f"{place} came with another payload: {call.payload}")
        if (*place, call.attempt) in self._attempts:
            self.complaints.append(f"attempt {call.attempt} of {place} was run twice")
        self._attempts.add((*place, call.attempt))
        step = Step.objects.get(idempotency_key=call.key)
        if (step.state, step.attempt) != (StepState.PROCESSING, call.attempt):
            self.complaints.append(
                f"attempt {call.attempt} of {place} was run: {step.state}, attempt {step.attempt}"
            )

        if "undoes" in call.payload:
            self._notice_undo(call)
        elif place in self.tombstones:
            self.complaints.append(f"{place} was run after it was undone")

    def _notice_undo(self, call: Call) -> None:
        key = call.payload["undoes"]
        forward = Step.objects.get(idempotency_key=key)
        if forward.state == StepState.PROCESSING:
            self.complaints.append(f"{call.step} was run while {forward.name} was at work")
        later = self._positions_after(call.subject, key)
        for (agent, other), times in self.effects.items():
            process, position, _ = other.split(":")
            is_later = times and key.startswith(process) and int(position) in later
            if is_later and self.undoer(call.subject, other, agent):
                self.complaints.append(f"{call.step} was run before {other} was undone")

    def _positions_after(self, subject: str, key: str) -> set[int]:
        specs = registry.workflow(self.workflows[subject]).steps
        names = {self.spec(subject, key).name}
        while True:
            found = names | {spec.name for spec in specs if names & set(spec.after)}
            if found == names:
                return {n for n, spec in enumerate(specs) if spec.name in names} - {
                    int(key.split(":")[1])
                }
            names = found

    def do(self, agent: str, call: Call) -> dict[str, Any]:
        if not self.take_effect(agent, call.subject, call.key, call.payload):
            raise Permanent("undone", "this key was undone before")
        return _result(agent)

    def hang(self, agent: str, call: Call) -> Answer:
        if not registry.agent(agent).is_local:
            self.hung.append((agent, call))
        raise DeadlinePassed("the service has not answered in time")

    def defer(self, agent: str, call: Call) -> Answer:
        result = self.do(agent, call)
        return result if registry.agent(agent).is_local else Deferred(600)


def _result(agent: str) -> dict[str, Any]:
    return {"by": agent, "size": 11}


Outcome = Callable[[Services, str, Call], Answer]


def _only(error: BaseException) -> Outcome:
    def run(services: Services, agent: str, call: Call) -> Answer:
        raise error.with_traceback(None)

    return run


def _effect_and(error: BaseException) -> Outcome:
    def run(services: Services, agent: str, call: Call) -> Answer:
        services.do(agent, call)
        raise error.with_traceback(None)

    return run


#: What a call may come to.  One that is not said to have had its effect has none.
OUTCOMES: dict[str, Outcome] = {
    "result": Services.do,
    "defers": Services.defer,
    "unavailable": _only(Unavailable("http_503", "busy")),
    "unavailable for long": _only(Unavailable("http_503", "busy", retry_after=600)),
    "transient": _only(Transient("http_500", "oops")),
    "transient after effect": _effect_and(Transient("http_500", "oops")),
    "permanent": _only(Permanent("http_404", "gone")),
    "refused": _only(Refused("declined", "no")),
    "a bug": _only(ZeroDivisionError("bug")),
    "a bug after effect": _effect_and(ZeroDivisionError("bug")),
    "unusable result": lambda services, agent, call: {**services.do(agent, call), "x": "\x00"},
    "dies": _only(WorkerDied()),
    "dies after effect": _effect_and(WorkerDied()),
    "late": _effect_and(DeadlinePassed("the time of this claim is over")),
    "hangs": Services.hang,
}
