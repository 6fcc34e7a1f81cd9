"""What may be given as attributes, and which of them are personal.  Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from workers.definitions import attributes
from workers.definitions.workflow import StepSpec, Workflow
from workers.rules.masks import Mask, covers
from workers.rules.rows import NewProcess

#: What paths of ``personal`` call them.
IN = "attributes"


def texts(workflow: Workflow, process: NewProcess) -> dict[str, str]:
    """Return the texts of a new process's attributes by name, in the order of declaration.

    Raises ``TypeError``, ``ValueError`` or ``BadText``, which name the attribute.
    """
    given = process.attributes
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise TypeError(
            f"attributes must be a dict, got {given!r}."
            ' Give them by name: attributes={"customer": 7}.'
        )
    known = workflow.attributes
    for name in given:
        if name not in known:
            raise ValueError(
                f"attributes must be declared by workflow {workflow.name} version"
                f" {workflow.version}, got {name!r}; it declares {', '.join(known) or 'none'}."
                " Declare it in a new version, or leave it out."
            )
    return {
        name: attributes.text(name, kind, given[name])
        for name, kind in known.items()
        if name in given
    }


def check(workflow: Workflow, wanted: Sequence[NewProcess]) -> None:
    """Raise for attributes that are not declared, that no column holds, or that a limit misses.

    ``workflow`` is completed: its agents' limits are filled in.
    """
    asked = asked_for(workflow)
    for name, asker in asked.items():
        if name not in workflow.attributes:
            raise ValueError(
                f"attribute {name} must be declared by workflow {workflow.name} version"
                f" {workflow.version}: {asker} limits by it. Declare it in a new version."
            )
    for process in wanted:
        given = texts(workflow, process)
        for name, asker in asked.items():
            if name not in given:
                raise ValueError(
                    f"attribute {name} must be given: {asker} limits workflow {workflow.name} by"
                    f' it. Give it: attributes={{"{name}": ...}}.'
                )


def personal(workflows: Iterable[Workflow]) -> set[str]:
    """Return the names of the attributes that any of these workflows declares personal."""
    return {
        name
        for workflow in workflows
        for name in workflow.attributes
        if covers(workflow.personal, (IN, name))
    }


def document(texts: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Return attributes as the part of a document that ``personal`` names by its path."""
    return {IN: dict(texts)}


def masked(texts: Mapping[str, str], mask: Mask) -> dict[str, str]:
    """Return attributes as a mask of their process has them."""
    shown: dict[str, str] = mask.value(document(texts))[IN]
    return shown


def exclusive_key(workflow: Workflow, values: Mapping[str, str]) -> str | None:
    """Return the key of a process of which one may run at a time; None: any number may."""
    if workflow.exclusive is None:
        return None
    return f"workflow:{workflow.name}:{workflow.exclusive}={values[workflow.exclusive]}"


@lru_cache(maxsize=1000)
def asked_for(workflow: Workflow) -> Mapping[str, str]:
    """Return the attributes by which a completed workflow is limited, each with who asks for it."""
    asked = {}
    if workflow.exclusive is not None:
        asked[workflow.exclusive] = "exclusive"
    for spec in workflow.steps:
        for agent, name in _agents(spec):
            if name is not None:
                asked.setdefault(name, f"agent {agent} (per_key)")
    return asked


def _agents(spec: StepSpec) -> Iterator[tuple[str | None, str | None]]:
    """Yield the agents that a step may need, each with the attribute by which it is limited."""
    yield spec.agent, spec.per_key
    if spec.undo is not None:
        yield spec.undo.agent, spec.undo.per_key
    for fallback in spec.fallbacks:
        yield fallback.agent, fallback.per_key
        yield fallback.undo_agent, fallback.undo_per_key
