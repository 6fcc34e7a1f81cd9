"""Names to workflows and agents: the engine's only way into the apps that use it."""

from collections.abc import Callable, Collection, Sequence
from difflib import get_close_matches
from typing import Any, TypeVar

from workers.definitions import checked_values, discovery, per_key
from workers.definitions.agent import DEFAULT_QUEUE, Agent, TaskAgent
from workers.definitions.children import CHILDREN
from workers.definitions.effects import Effect
from workers.definitions.per_key import PerKey
from workers.definitions.schedule import Schedule
from workers.definitions.webhook_provider import Provider
from workers.definitions.workflow import Workflow
from workers.exceptions import UnknownAgent, UnknownWorkflow, WorkflowError

A = TypeVar("A", bound=Agent)

_workflows: dict[tuple[str, int], Workflow] = {}
_agents: dict[str, Agent] = {}
_schedules: dict[str, Schedule] = {}
#: Returns the secrets that sign the webhooks of an owner, the newest first.
Secrets = Callable[[str], Sequence[str]]
_secrets: list[Secrets] = []
_providers: dict[str, Provider] = {}


def discover() -> None:
    """Import ``agents``, ``workflows`` and ``webhooks`` of every installed app.

    Every look-up does so first: a name is known wherever it is looked up.
    """
    discovery.import_modules("agents", "workflows", "webhooks")


def register_workflow(workflow: Workflow) -> Workflow:
    """Register a workflow; refuse another one of the same name and version."""
    key = (workflow.name, workflow.version)
    if _workflows.setdefault(key, workflow) is not workflow:
        raise WorkflowError(
            f"Workflow {workflow.name} version {workflow.version} is registered twice. "
            "Give the newer one the next version."
        )
    for other in _workflows.values():
        for name, kind in workflow.attributes.items():
            if other.attributes.get(name, kind) is not kind:
                del _workflows[key]
                raise WorkflowError(
                    f"Workflow {workflow.name} version {workflow.version}: attribute {name} must be"
                    f" {other.attributes[name].__name__} as in {other.name} version"
                    f" {other.version}, got {kind.__name__}. Call it something else."
                )
    return workflow


def register_schedule(schedule: Schedule) -> Schedule:
    """Register a schedule; refuse another one of the same name."""
    checked_values.instance("register_schedule", "its argument", schedule, Schedule)
    if _schedules.setdefault(schedule.name, schedule) is not schedule:
        raise WorkflowError(f"Two schedules are called {schedule.name!r}. Rename one of them.")
    return schedule


def schedules() -> dict[str, Schedule]:
    """Return the schedules of this code, by name."""
    discover()
    return dict(_schedules)


def register_agent(cls: type[A]) -> type[A]:
    """Register an agent under its ``name``; a class decorator.

    Raises ``WorkflowError`` for an attribute that cannot work, and for a second agent of a name.
    """
    _check_agent(cls)
    agent = cls()
    for method in ("run", "probe"):
        checked_values.function(f"Agent {agent.name}", method, getattr(agent, method), "call")
    registered = _agents.setdefault(agent.name, agent)
    per_key.note(agent.name, registered)
    if type(registered) is not cls:
        raise WorkflowError(f"Two agents are called {agent.name!r}. Rename one of them.")
    return cls


def _check_agent(cls: type[Agent]) -> None:
    if not (isinstance(cls, type) and issubclass(cls, Agent)):
        raise WorkflowError(
            f"An agent must be a class that inherits from Agent or LocalAgent, got {cls!r}. "
            "Decorate the class itself."
        )
    checked_values.name(f"Agent {cls.__name__}", "name", getattr(cls, "name", None))
    where = f"Agent {cls.name}"
    if cls.name == CHILDREN:
        raise WorkflowError(f"{where}: the name stands for the children of a step. Choose another.")
    checked_values.choice(where, "effect", cls.effect, Effect)
    checked_values.name(where, "queue", cls.queue)
    checked_values.flag(where, "is_local", cls.is_local)
    checked_values.flag(where, "is_serial", cls.is_serial)
    checked_values.whole(where, "window", cls.window, least=1)
    checked_values.whole(where, "deferred_window", cls.deferred_window, least=1)
    checked_values.above_zero(where, "rate", cls.rate)
    checked_values.instance(where, "per_key", cls.per_key, PerKey)
    checked_values.whole(where, "bundle_limit", cls.bundle_limit, least=1)
    checked_values.whole(where, "key_retention_seconds", cls.key_retention_seconds, least=1)
    checked_values.labels(where, "answer_labels", cls.answer_labels)
    _check_names(where, cls)
    if cls.run is Agent.run:
        raise WorkflowError(f"{where} has no run(call). Define what it does.")


def _check_names(where: str, cls: type[Agent]) -> None:
    """Refuse an attribute that is almost spelt like one of ``Agent``: nothing reads it."""
    own = {name for base in cls.__mro__ if base not in Agent.__mro__ for name in vars(base)}
    for name in sorted(own - {*dir(Agent), *Agent.__annotations__}):
        if matches := get_close_matches(name, Agent.__annotations__, n=1, cutoff=0.85):
            raise WorkflowError(
                f"{where} sets {name}, which nothing reads: an agent has {matches[0]}. Rename it."
            )


def register_secrets(secrets: Secrets) -> Secrets:
    """Register a function that returns secrets of webhooks; a decorator, for ``webhooks`` modules.

    It returns none for an owner it does not know: the next function is asked then.
    """
    if secrets not in _secrets:
        _secrets.append(secrets)
    return secrets


def webhook_secrets(owner: str) -> tuple[str, ...]:
    """Return the secrets of an owner of webhooks; none if no app knows any."""
    discover()
    for secrets in _secrets:
        if owner_secrets := tuple(secrets(owner)):
            return owner_secrets
    return ()


def register_provider(provider: Provider) -> Provider:
    """Register a provider of webhooks; refuse another one of the same name."""
    if _providers.setdefault(provider.name, provider) is not provider:
        raise WorkflowError(
            f"Two providers of webhooks are called {provider.name!r}. Rename one of them."
        )
    return provider


def provider(name: str) -> Provider | None:
    """Return the provider of webhooks of that name, or None."""
    discover()
    return _providers.get(name)


def register_task(
    task: Any,
    *,
    name: str | None = None,
    effect: Effect = Effect.UNSAFE,
    key_argument: str | None = None,
    queue: str = DEFAULT_QUEUE,
) -> str:
    """Make a Celery task an agent, unchanged; return the agent's name for ``step``.

    The task is called as a plain function, one call at a time, with the payload as keyword
    arguments.  Its effect outside is unknown, so it counts as unsafe (an unknown outcome goes
    to an operator) unless you declare that it may be called again; then have it use the
    idempotency key, passed as ``key_argument``.
    """
    name = name or str(task.name)
    # A Celery task's own signature takes anything; that of its ``run`` counts.
    checked_values.plain(f"Agent {name}", "task", getattr(task, "run", task))
    attributes = {
        "name": name,
        "effect": effect,
        "key_argument": key_argument,
        "queue": queue,
        "task": staticmethod(task),
        "__doc__": task.__doc__,
    }
    register_agent(type("TaskAgent", (TaskAgent,), attributes))
    return name


def workflow(name: str, version: int | None = None) -> Workflow:
    """Return that version of a workflow, the newest if None; raise ``UnknownWorkflow``."""
    discover()
    if version is None:
        version = max((v for n, v in _workflows if n == name), default=None)
    spec = None if version is None else _workflows.get((name, version))
    if spec is None:
        raise UnknownWorkflow(name, version, sorted({name for name, _ in _workflows}))
    return spec


def has_workflow(name: str, version: int) -> bool:
    """Say whether this code has that version of a workflow."""
    discover()
    return (name, version) in _workflows


def agent(name: str) -> Agent:
    """Return the agent of that name; raise ``UnknownAgent``."""
    discover()
    try:
        return _agents[name]
    except KeyError:
        raise UnknownAgent(name, sorted(_agents)) from None


def has_agent(name: str) -> bool:
    """Say whether this code has an agent of that name."""
    discover()
    return name in _agents


def workflows() -> list[Workflow]:
    discover()
    return list(_workflows.values())


def attributes(workflow: str | None = None) -> dict[str, type]:
    """Return what any version of a workflow declares, or any workflow at all, by name."""
    return {
        name: kind
        for declaring in workflows()
        if workflow in (None, declaring.name)
        for name, kind in declaring.attributes.items()
    }


def agents() -> list[Agent]:
    discover()
    return list(_agents.values())


def queues() -> set[str]:
    """Return the names of the queues of all agents."""
    return {agent.queue for agent in agents()}


def of_queues(names: Collection[str]) -> set[str]:
    """Return the names of the agents whose queue is one of these."""
    return {agent.name for agent in agents() if agent.queue in names}


def step_names() -> set[str]:
    """Return the names of all steps and undo steps of all workflows."""
    specs = [spec for workflow in workflows() for spec in workflow.steps]
    return {spec.name for spec in specs} | {spec.undo.name for spec in specs if spec.undo}


def undo_agents() -> set[str]:
    """Return the names of the agents that undo a step of any workflow."""
    specs = [spec for workflow in workflows() for spec in workflow.steps]
    fallbacks = {back.undo_agent for spec in specs for back in spec.fallbacks if back.undo_agent}
    return fallbacks | {spec.undo.agent for spec in specs if spec.undo and not spec.children}
