"""Read the news of sinks: numbered journal rows beyond a sink's cursor, in order."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from workers.store.db import dialect
from workers.store.sinks import ClaimedSink

#: How many rows of one sink to read at once.
PORTION = 50


@dataclass(frozen=True, slots=True)
class News:
    """A numbered journal row with its context."""

    sequence: int
    event: str
    #: The process's state after this row.
    state: str
    step: str | None
    actor: str
    detail: dict[str, Any]
    at: datetime
    #: Whether the process itself, not a step, changed its state.
    is_move: bool


@dataclass(frozen=True, slots=True)
class Subject:
    """What a process is about, for its submitters."""

    uid: UUID
    subject: str
    workflow: str
    version: int
    input: dict[str, Any]


def subjects(process_ids: Sequence[int]) -> dict[int, Subject]:
    """Return the subjects of processes by id."""
    rows = dialect.fetch(
        "SELECT id, uid, subject, workflow, version, input FROM workers_process"
        f" WHERE {dialect.among('id')}",
        [dialect.id_list(sorted(set(process_ids)))],
    )
    subjects = {}
    for process_id, uid, subject, workflow, version, document in rows:
        uuid = dialect.uuid(uid)
        assert uuid is not None
        subjects[process_id] = Subject(uuid, subject, workflow, version, dialect.document(document))
    return subjects


def news(claimed: Sequence[ClaimedSink]) -> dict[int, list[News]]:
    """Return the next rows for each sink, by its id and in order."""
    rows = dialect.fetch(
        "SELECT v.id, j.sequence, j.event,"
        # A row that does not move the process leaves it in the state of its last move.
        " (SELECT m.after FROM workers_journal m WHERE m.process_id = j.process_id"
        "  AND m.id <= j.id AND m.step_id IS NULL AND m.after IS NOT NULL"
        "  ORDER BY m.id DESC LIMIT 1),"
        " s.name, j.actor, j.detail, j.at, j.step_id IS NULL AND j.after IS NOT NULL"
        f" FROM {dialect.rows_as('v', {'id': 'id', 'process_id': 'id', 'after': 'int'})}"
        " JOIN workers_journal j ON j.process_id = v.process_id AND j.sequence > v.after"
        f" AND j.sequence <= v.after + {PORTION}"
        " LEFT JOIN workers_step s ON s.id = j.step_id ORDER BY v.id, j.sequence",
        [
            dialect.encode(
                [
                    {"id": sink.id, "process_id": sink.process_id, "after": sink.cursor}
                    for sink in claimed
                ]
            )
        ],
    )
    by_sink: dict[int, list[News]] = {sink.id: [] for sink in claimed}
    for sink_id, sequence, event, state, step, actor, detail, at, is_move in rows:
        moment = dialect.instant(at)
        assert moment is not None
        by_sink[sink_id].append(
            News(
                sequence,
                event,
                state or "pending",
                step,
                actor,
                dialect.document(detail),
                moment,
                bool(is_move),
            )
        )
    return by_sink
