"""What may be given as attributes, and which of them are personal.  Pure."""

from collections.abc import Iterable, Mapping, Sequence

from workers.definitions import attributes
from workers.definitions.workflow import Workflow
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
    """Raise for attributes that the workflow does not declare, or that no column holds."""
    for process in wanted:
        texts(workflow, process)


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
