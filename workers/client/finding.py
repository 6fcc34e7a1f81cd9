"""Find processes by what the application knows them by."""

from workers.definitions import attributes as kinds
from workers.definitions import registry
from workers.definitions.workflow import Workflow
from workers.models import Process
from workers.states import ProcessState
from workers.store.attributes import having

MOST = 1000


def processes(
    workflow: str | Workflow | None = None,
    *,
    state: str | None = None,
    after: int | None = None,
    limit: int = 100,
    **attributes: object,
) -> list[Process]:
    """Return processes, the newest first: of a workflow, in a state, with all these attributes.

    ``workflow`` is a name, for all of its versions, and None for all workflows.
    ``limit`` is 1 to 1,000.  ``after`` is the id of the last process of the page before; it need
    not be there any more.  Processes submitted meanwhile move no page, and are on none after it.
    The input of a process is read when it is asked for.

    Raises ``UnknownWorkflow`` for one that is neither registered nor has processes;
    ``ValueError`` for an attribute that no version declares, naming those that are declared, and
    for a state, limit or value that cannot be; ``TypeError`` for a value of another type.
    """
    if isinstance(workflow, Workflow):
        workflow = workflow.name
    if state is not None and state not in ProcessState.values:
        raise ValueError(f"state must be one of {', '.join(ProcessState.values)}, got {state!r}.")
    if not isinstance(limit, int) or not 1 <= limit <= MOST:
        raise ValueError(f"limit must be 1 to {MOST:,}, got {limit!r}. Read pages, by after=.")
    if after is not None and not isinstance(after, int):
        raise TypeError(f"after must be the id of a process, got {after!r}.")
    known = registry.attributes(workflow)
    texts = {
        name: kinds.text(name, kinds.sought(known, name), value)
        for name, value in attributes.items()
    }
    narrow = {"workflow": workflow, "state": state, "pk__lt": after}
    wanted = {name: value for name, value in narrow.items() if value is not None}
    found = having(Process.objects.filter(**wanted), "", texts).order_by("-pk").values("pk")
    # Found by indexes alone: only what is returned is read.
    rows = list(Process.objects.filter(pk__in=found[:limit]).order_by("-pk").defer("input"))
    if not rows and workflow is not None:
        # It has a name wrong; the processes of a workflow that is gone are found.
        registry.workflow(workflow)
    return rows
