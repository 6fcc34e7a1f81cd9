"""Check the attributes of new processes before anything is written.  Pure."""

from collections.abc import Mapping, Sequence

from workers.definitions import attributes
from workers.definitions.workflow import Workflow
from workers.rules.rows import NewProcess


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
