"""Accept a process: rows in the caller's transaction, a wake-up after it."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from workers.definitions import completing, registry
from workers.definitions.workflow import Workflow
from workers.exceptions import AlreadySubmitted
from workers.models import Process
from workers.rules import attributes as attribute_rules
from workers.rules import new_processes, submission_keys
from workers.rules.rows import KeyFor, NewProcess, NewSink, OnConflict
from workers.runtime import storable_text, tracing
from workers.store.db import dialect, prepared_plans
from workers.store.db.transactions import durable
from workers.store.submit import create_processes
from workers.wire.wake_ups import wake_agents, wake_scheduler


def submit(
    workflow: str | Workflow,
    *,
    subject: str,
    input: dict[str, Any],
    actor: str = "submitter",
    version: int | None = None,
    lane: str = "",
    priority: int = 0,
    deadline_at: datetime | None = None,
    sinks: Sequence[NewSink] = (),
    attributes: Mapping[str, object] | None = None,
    submission_key: str | None = None,
    on_conflict: OnConflict = "return",
    key_for: KeyFor = "until ended",
    now: datetime | None = None,
) -> Process:
    """Accept one run of a workflow, by its name: the newest version, unless one is named.

    The workflow itself stands for its name and version.

    Call it inside the transaction that creates what the process is about (``atomic``): then
    both exist or neither, because any failure after the first row rolls that transaction back.
    The process is durable once that transaction commits, whatever state the broker is in.
    ``input`` is JSON and becomes the snapshot that agents work from.

    Raises, before anything is written: ``UnknownWorkflow`` and ``UnknownAgent``; ``BadText``, a
    ``ValueError``, for a subject that is blank or of more than 200 characters, an address of more
    than 500, and any text with NUL or a lone surrogate; ``ValueError`` for a priority outside 0 to
    100, a ``deadline_at`` that has passed or has no time zone, and two sinks of one address;
    ``TypeError`` for an input that is not a dict and a priority that is no whole number;
    ``ValueError`` or ``TypeError`` for an input that is not JSON.

    ``lane`` names the owner of the process: many of one lane do not hold up a few of another.
    Its first 200 characters count.
    Each level of ``priority`` is worth a head start of ``SAS_PRIORITY_SECONDS``.
    ``deadline_at`` overrides the workflow's own deadline.  ``sinks`` are notified of every
    change; their addresses are used as given, so check who owns them.

    ``attributes`` are what the process is found by (``processes``), values of the types that its
    workflow declares, and stay as they are; a declared one may be missing.  One that is not
    declared, blank, or of more than 200 characters is a ``ValueError``, another type a
    ``TypeError``.

    ``submission_key`` is the submitter's own, up to 400 characters, one for each workflow,
    whatever its version.  While it is taken, ``on_conflict`` decides: ``"return"`` returns the
    first process, whatever this input; ``"refuse"`` raises ``AlreadySubmitted``, with the first as
    its ``process``; ``"replace"`` cancels the first and submits this one if no step of the first
    was ever claimed, and returns it otherwise.  A call that meets another waits for that one's
    commit.  ``key_for`` says how long the key is taken: ``"until ended"``, while the process is not
    processed, compensated or cancelled; a ``timedelta`` from the submission; or None, for ever: at
    most until the process is pruned.  Idempotency keys are made from the key and the ordinal of
    its use: used again it has others, and sent again after a restore that has lost it, the same.
    """
    key = submission_key, on_conflict, key_for
    process = NewProcess(subject, input, lane, priority, deadline_at, sinks, *key, attributes)
    return submit_many(workflow, [process], actor=actor, version=version, now=now)[0]


def submit_many(
    workflow: str | Workflow,
    wanted: Sequence[NewProcess],
    *,
    actor: str = "submitter",
    version: int | None = None,
    now: datetime | None = None,
) -> list[Process]:
    """Accept many runs of a workflow, all of them or none; return them in their order.

    Like ``submit``, with a handful of statements for all: many times as fast for some hundreds
    at a time.
    """
    if isinstance(workflow, Workflow):
        version, workflow = version or workflow.version, workflow.name
    # Refuse before anything is written: the transaction stays usable.
    storable_text.check("actor", actor)
    for process in wanted:
        new_processes.check(process)
    submission_keys.check(wanted)
    if any(process.deadline_at is not None for process in wanted):
        new_processes.check_deadlines(wanted, dialect.read_clock(now))
    definition = completing.completed(registry.workflow(workflow, version))
    attribute_rules.check(definition, wanted)
    # If one of many is refused, the others are rolled back.
    savepoint = len(wanted) > 1 and any(process.on_conflict == "refuse" for process in wanted)
    with prepared_plans.kept(), durable("submission.submit", savepoint=savepoint):
        processes, refused = create_processes.submit(definition, wanted, actor=actor, now=now)
        if savepoint and refused is not None:
            raise AlreadySubmitted(refused)
        _wake(definition)
    if refused is not None:
        raise AlreadySubmitted(refused)
    tracing.note_submission(workflow, [process.uid for process in processes])
    return processes


def _wake(workflow: Workflow) -> None:
    """Wake the agents of the first steps; a scheduler if a condition decides about one."""
    first = [spec for spec in workflow.steps if not spec.after]
    if any(spec.is_judged or spec.children for spec in first):
        wake_scheduler()
    if any(spec.is_judged for spec in first):
        return
    for queue in sorted({registry.agent(name).queue for spec in first for name in spec.agents[:1]}):
        wake_agents(queue)
