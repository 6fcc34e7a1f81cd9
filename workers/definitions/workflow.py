"""What a workflow is: named steps, each for one agent, and their order."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from inspect import isawaitable
from typing import Any

from workers.definitions import attributes, checked_values
from workers.definitions.children import CHILDREN, Children
from workers.exceptions import UnknownStep, WorkflowError

Json = dict[str, Any]
#: Decides from the process input and the results of settled steps whether a step is done.
Condition = Callable[[Json, Mapping[str, Json]], bool]
#: Returns the earliest instant of a step, with a time zone, or None for at once.
Date = Callable[[Json, Mapping[str, Json]], datetime | None]
#: Applies {path: [before, after]} to the app's own tables; raises ``StateError`` to refuse.
EditHook = Callable[[Json, Mapping[str, list[Any]]], None]
#: Returns what a status message shows of the input: numbers and ids, nothing secret.
Describe = Callable[[Json], Json]
#: Called with the end of a process, in the transaction that ends it.
OnEnd = Callable[["End"], object]
#: Builds an agent's payload from the process input and the results of settled steps.
RequestBuilder = Callable[[Json, Mapping[str, Json]], Json]


def ask(option: str, condition: Condition, given: Json, results: Mapping[str, Json]) -> bool:
    """Ask a condition; raise ``TypeError`` for a coroutine, and what the condition raises."""
    answer: object = condition(given, results)
    if isawaitable(answer):
        raise TypeError(f"{option} returned a coroutine, which says neither yes nor no")
    return bool(answer)


def whole_input(process_input: Json, results: Mapping[str, Json]) -> Json:
    """Return the process input unchanged: the payload of a step without ``request``."""
    return process_input


class OnFailure(StrEnum):
    """What follows when a step that is not optional fails for good."""

    #: Stop the process in error and raise an alert.
    ERROR = "error"
    #: Undo what was done, with an alert.
    COMPENSATE = "compensate"
    #: Pause the step for ``wait_seconds``, then give it all its attempts again.
    WAIT = "wait"
    #: Ask an operator; the other branches go on until they need the step.
    ASK = "ask"


class OnDeadline(StrEnum):
    """What follows when a process has not ended by its deadline."""

    #: Undo what was done, with an alert.
    COMPENSATE = "compensate"
    #: Raise an alert and go on.
    ALERT = "alert"


@dataclass(frozen=True, slots=True)
class Undo:
    """How a step's effect is undone: the undo step's name and the agent that does it.

    That agent gets the step's own payload with ``undoes``, the idempotency key of the call
    to be undone, and ``result``, the result of that call (None if unknown).
    """

    name: str
    agent: str
    #: Filled in from the agent's declaration.
    effect: str | None = None
    key_retention_seconds: int | None = None
    per_key: str | None = None


@dataclass(frozen=True, slots=True)
class Fallback:
    """An agent to try next, and the agent that undoes what it did."""

    agent: str
    undo_agent: str | None = None
    failure_threshold: int | None = None
    #: Filled in from the agents' declarations.
    effect: str | None = None
    undo_effect: str | None = None
    undo_key_retention_seconds: int | None = None
    key_retention_seconds: int | None = None
    per_key: str | None = None
    undo_per_key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StepSpec:
    """One step as declared.  None means the engine's setting of that name."""

    name: str
    agent: str
    after: tuple[str, ...] = ()
    undo: Undo | None = None
    #: Tried in turn, once the agent before failed for good and had no effect.
    fallbacks: tuple[Fallback, ...] = ()
    on_failure: OnFailure = OnFailure.ERROR
    wait_seconds: int = 3600
    #: Skipped with an alert, instead of ending the process in error, when it fails for good.
    optional: bool = False
    #: Skipped without an alert if this is false, once everything before it is settled.
    when: Condition | None = None
    #: Begins this long after everything before it is settled, ...
    delay_seconds: int = 0
    #: ... or not before an instant computed from the data.
    until: Date | None = None
    #: Skipped once this step is processed, or if this is true when its wait is over.
    unless: Condition | str | None = None
    #: Time for all attempts together; a failure after it is the last.
    total_seconds: int | None = None
    timeout_seconds: int | None = None
    failure_threshold: int | None = None
    backoff_base_seconds: float | None = None
    backoff_cap_seconds: float | None = None
    request: RequestBuilder = whole_input
    #: Instead of an agent.
    children: Children | None = None
    #: Filled in from the agent's declaration.
    effect: str | None = None
    key_retention_seconds: int | None = None
    per_key: str | None = None

    @property
    def agents(self) -> list[str]:
        """Return the names of all agents it may need: its own, the undo's, the fall-backs'."""
        if self.children is not None:
            return []
        undo = [self.undo.agent] if self.undo else []
        others = [name for f in self.fallbacks for name in (f.agent, f.undo_agent) if name]
        return [self.agent, *undo, *others]

    @property
    def is_judged(self) -> bool:
        """Say whether a function of the definition is called when the step is ready."""
        return self.when is not None or self.until is not None


def step(
    name: str,
    agent: str | None = None,
    *,
    children: Children | None = None,
    after: Sequence[str] | str = (),
    request: RequestBuilder = whole_input,
    when: Condition | None = None,
    delay_seconds: int = 0,
    until: Date | None = None,
    unless: Condition | str | None = None,
    timeout_seconds: int | None = None,
    failure_threshold: int | None = None,
    total_seconds: int | None = None,
    backoff_base_seconds: float | None = None,
    backoff_cap_seconds: float | None = None,
    fallbacks: Sequence[Fallback | str] = (),
    undo: Undo | None = None,
    on_failure: OnFailure | str = OnFailure.ERROR,
    wait_seconds: int = 3600,
    optional: bool = False,
) -> StepSpec:
    """Declare a step; ``after`` names the steps that must be settled before it.

    ``children``, instead of an agent, makes it a list of processes.  Times are in seconds; None
    means the engine's setting of that name.  Raises ``WorkflowError`` for a value that cannot work,
    with the value and what it must be.
    """
    checked_values.name("A step", "name", name)
    where = f"Step {name}"
    if children is not None:
        options = {
            "agent": agent,
            "request": None if request is whole_input else request,
            "timeout_seconds": timeout_seconds,
            "failure_threshold": failure_threshold,
            "total_seconds": total_seconds,
            "backoff_base_seconds": backoff_base_seconds,
            "backoff_cap_seconds": backoff_cap_seconds,
            "fallbacks": fallbacks or None,
            "undo": undo,
        }
        agent, undo = _children(where, name, children, options)
    checked_values.name(where, "agent", agent)
    assert agent is not None
    for option, function in (("request", request), ("when", when), ("until", until)):
        checked_values.function(where, option, function, "input", "results")
    if isinstance(unless, str):
        checked_values.name(where, "unless", unless)
    else:
        checked_values.function(where, "unless", unless, "input", "results")
    checked_values.whole(
        *(where, "timeout_seconds", timeout_seconds),
        least=1,
        most=checked_values.TIMEOUT_SECONDS,
        remedy="Longer work defers its reply.",
    )
    checked_values.whole(
        where, "failure_threshold", failure_threshold, least=1, most=checked_values.MOST_ATTEMPTS
    )
    checked_values.whole(where, "delay_seconds", delay_seconds, least=0)
    checked_values.whole(where, "total_seconds", total_seconds, least=1)
    checked_values.whole(where, "wait_seconds", wait_seconds, least=1)
    checked_values.seconds(where, "backoff_base_seconds", backoff_base_seconds)
    checked_values.seconds(where, "backoff_cap_seconds", backoff_cap_seconds)
    checked_values.flag(where, "optional", optional)
    checked_values.instance(where, "undo", undo, Undo)
    if undo is not None:
        checked_values.name(where, "undo.name", undo.name)
        checked_values.name(where, "undo.agent", undo.agent)
    return StepSpec(
        name=name,
        agent=agent,
        after=checked_values.names(where, "after", after),
        request=request,
        when=when,
        delay_seconds=delay_seconds,
        until=until,
        unless=unless,
        timeout_seconds=timeout_seconds,
        failure_threshold=failure_threshold,
        total_seconds=total_seconds,
        backoff_base_seconds=backoff_base_seconds,
        backoff_cap_seconds=backoff_cap_seconds,
        fallbacks=tuple(_fallback(where, fallback) for fallback in fallbacks),
        undo=undo,
        on_failure=checked_values.choice(where, "on_failure", on_failure, OnFailure),
        wait_seconds=wait_seconds,
        optional=optional,
        children=children,
    )


def _children(
    where: str, name: str, children: Children, options: Mapping[str, object]
) -> tuple[str, Undo]:
    """Check a step with children; return what stands for its agent and its undo."""
    checked_values.instance(where, "children", children, Children)
    if given := [option for option, value in options.items() if value is not None]:
        raise WorkflowError(
            f"{where} has children and {given[0]}, which is of a step with an agent. "
            f"Drop {given[0]}, or give it to the steps of {children.workflow}."
        )
    children.check(where)
    return CHILDREN, Undo(f"undo_{name}"[: checked_values.NAME_LENGTH], CHILDREN)


def _fallback(where: str, fallback: Fallback | str) -> Fallback:
    if isinstance(fallback, str):
        fallback = Fallback(fallback)
    checked_values.instance(where, "fallbacks", fallback, Fallback)
    checked_values.name(where, "fallbacks: agent", fallback.agent)
    if fallback.undo_agent is not None:
        checked_values.name(where, "fallbacks: undo_agent", fallback.undo_agent)
    checked_values.whole(
        *(where, "fallbacks: failure_threshold", fallback.failure_threshold),
        least=1,
        most=checked_values.MOST_ATTEMPTS,
    )
    return fallback


@dataclass(frozen=True, slots=True)
class End:
    """The end of a process, the argument of ``Workflow(on_end=...)``."""

    #: The id of the process, as ``status`` and the verbs take it.
    id: int
    #: What the process is about, as submitted.
    subject: str
    #: processed, compensated, cancelled or error.
    state: str
    #: The results of the steps that were done, by name.
    results: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Workflow:
    """A named, versioned graph of steps.

    A process keeps the version it began with, so a released version is never edited: a
    change is a new version beside it.
    """

    name: str
    version: int
    steps: tuple[StepSpec, ...]
    #: Once all of these steps are processed, nothing is undone any more.
    no_return: tuple[str, ...] = ()
    #: Time for a process, from its submission on; never applies to undoing.
    deadline_seconds: int | None = None
    on_deadline: OnDeadline = OnDeadline.COMPENSATE
    #: Dotted paths of the input that an operator may change.
    editable: tuple[str, ...] = ()
    #: Called with such changes in their transaction, to update the app's own tables.
    on_edit: EditHook | None = None
    #: Called once for every end: processed, compensated, cancelled or error.
    on_end: OnEnd | None = None
    #: Dotted paths of the input that operators see masked, with everything below.
    personal: tuple[str, ...] = ()
    #: What processes are found by: names, each with its type.
    attributes: Mapping[str, type] = field(default_factory=dict, hash=False)
    #: One process at a time for each value of this attribute, from its first step's begin to its
    #: end, of all versions; one in error counts.
    exclusive: str | None = None
    #: What status messages call a process: the first word of their type, ...
    told_as: str = "process"
    #: ... and what they show of its input.
    describe: Describe | None = None
    by_name: dict[str, StepSpec] = field(init=False, repr=False, compare=False)
    #: The names of all agents that its steps may need.
    agents: tuple[str, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self._check_values()
        object.__setattr__(self, "by_name", {spec.name: spec for spec in self.steps})
        names = dict.fromkeys(name for spec in self.steps for name in spec.agents)
        object.__setattr__(self, "agents", tuple(names))
        problem = _problem(self)
        if problem:
            raise WorkflowError(f"Workflow {self.name} version {self.version}: {problem}")

    def step(self, name: str) -> StepSpec:
        """Return the step of that name; raise ``UnknownStep``."""
        try:
            return self.by_name[name]
        except KeyError:
            raise UnknownStep(self.name, self.version, name) from None

    def _check_values(self) -> None:
        checked_values.name("A workflow", "name", self.name)
        where = f"Workflow {self.name}"
        checked_values.whole(where, "version", self.version, least=1)
        where = f"{where} version {self.version}"
        if not isinstance(self.steps, tuple) or not all(
            isinstance(spec, StepSpec) for spec in self.steps
        ):
            given = self.steps if isinstance(self.steps, list | tuple) else (self.steps,)
            kinds = ", ".join(dict.fromkeys(type(part).__name__ for part in given))
            raise WorkflowError(
                f"{where}: steps must be a tuple of what step() returns, got a "
                f"{type(self.steps).__name__} of {kinds}. Write steps=(step(...), step(...))."
            )
        checked_values.whole(where, "deadline_seconds", self.deadline_seconds, least=1)
        checked_values.function(where, "on_edit", self.on_edit, "input", "changes")
        checked_values.function(where, "on_end", self.on_end, "end")
        checked_values.function(where, "describe", self.describe, "input")
        for name in ("no_return", "editable", "personal"):
            object.__setattr__(self, name, checked_values.names(where, name, getattr(self, name)))
        object.__setattr__(self, "attributes", attributes.declared(where, self.attributes))
        names = list(self.attributes)
        if self.exclusive is not None and self.exclusive not in names:
            raise WorkflowError(
                f"{where}: exclusive must be one of its attributes, got {self.exclusive!r}."
                ' Declare it: attributes={"customer": int}, exclusive="customer".'
            )
        on_deadline = checked_values.choice(where, "on_deadline", self.on_deadline, OnDeadline)
        object.__setattr__(self, "on_deadline", on_deadline)


def _problem(workflow: Workflow) -> str | None:
    if not workflow.steps:
        return "it has no steps. Declare at least one."
    if len(workflow.by_name) != len(workflow.steps):
        [(twice, _)] = Counter(spec.name for spec in workflow.steps).most_common(1)
        return f"two steps have the same name, {twice}. Give each its own."
    names = [spec.name for spec in workflow.steps] + [
        spec.undo.name for spec in workflow.steps if spec.undo
    ]
    if len(set(names)) != len(names):
        [(twice, _)] = Counter(names).most_common(1)
        return f"an undo step has the name of another step, {twice}. Give each its own."
    for name in workflow.no_return:
        if name not in workflow.by_name:
            return f"its point of no return names {name}, which is no step of it."
    for spec in workflow.steps:
        problem = _problem_of_step(workflow, spec)
        if problem:
            return f"step {spec.name} {problem}"
    cycle = _cycle(workflow)
    if cycle:
        return f"steps form a dependency cycle: {' -> '.join(cycle)}. Break it."
    return None


def _problem_of_step(workflow: Workflow, spec: StepSpec) -> str | None:
    if spec.on_failure == OnFailure.COMPENSATE and spec.optional:
        return "is optional, so its failure undoes nothing. Drop one of them."
    if spec.undo is None and any(fallback.undo_agent for fallback in spec.fallbacks):
        return "has fall-backs with an undo and none itself. Name its undo."
    for name in spec.after:
        if name not in workflow.by_name:
            return f"comes after {name}, which is no step of it."
    if isinstance(spec.unless, str):
        if spec.unless not in workflow.by_name:
            return f"is skipped once {spec.unless} is done, which is no step of it."
        if spec.unless == spec.name:
            return "is skipped once it is done itself. Name another step."
    return _problem_of_times(workflow, spec)


def _problem_of_times(workflow: Workflow, spec: StepSpec) -> str | None:
    if spec.delay_seconds and spec.until:
        return "has both a delay and a date. Keep one of them."
    timeout = spec.timeout_seconds or 0
    if spec.total_seconds is not None and spec.total_seconds < max(1, timeout):
        return "has less time for all attempts together than for one. Raise total_seconds."
    if workflow.deadline_seconds is not None:
        longest = max(timeout, spec.total_seconds or 0) + spec.delay_seconds
        if longest > workflow.deadline_seconds:
            return (
                f"may take {longest} s, and the process has {workflow.deadline_seconds} s in all. "
                "Shorten the step or give the process more time."
            )
    return None


def _cycle(workflow: Workflow) -> list[str] | None:
    """Return the names of steps that form a cycle, or None."""
    done: set[str] = set()

    def visit(name: str, path: list[str]) -> list[str] | None:
        if name in done:
            return None
        if name in path:
            return [*path[path.index(name) :], name]
        for before in workflow.by_name[name].after:
            cycle = visit(before, [*path, name])
            if cycle:
                return cycle
        done.add(name)
        return None

    for spec in workflow.steps:
        cycle = visit(spec.name, [])
        if cycle:
            return cycle
    return None
