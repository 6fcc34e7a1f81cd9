"""Replies filed on the step row, where a message alone is not safe enough."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from msgspec.structs import replace

from workers.exceptions import MessageError
from workers.protocol.faults import FaultRecord
from workers.protocol.messages import Reply
from workers.rules.rows import Entry
from workers.runtime.failpoints import durable
from workers.runtime.json_text import encode_document
from workers.store import journal
from workers.store.db import dialect


def file(reply: Reply, worker: str, now: datetime | None = None) -> bool:
    """File a reply on its step row while its claim holds and its deadline has not passed.

    False: too late, or the claim was superseded; then the agent must send no reply, and roll back
    everything else that its transaction wrote.  A filed reply never expires.
    """
    moment, moment_params = dialect.clock(now)
    body: dict[str, Any] = reply.to_wire()
    with durable("filed_replies.file"):
        rows = dialect.fetch(
            "UPDATE workers_step SET reply = "
            + ("%s::jsonb" if dialect.is_postgres() else "%s")
            + " WHERE id = %s AND claim_id = %s AND state = 'processing' AND reply IS NULL"
            " AND deferral IS NULL"
            f" AND complete_by > {moment} RETURNING process_id, attempt",
            [
                encode_document(body),
                reply.step_id,
                reply.claim_id if dialect.is_postgres() else reply.claim_id.hex,
                *moment_params,
            ],
        )
        if not rows:
            return False
        process_id, attempt = rows[0]
        journal.write(
            [
                Entry(
                    process_id=process_id,
                    step_id=reply.step_id,
                    event="reply_filed",
                    actor=worker,
                    attempt=attempt,
                    detail={"kind": reply.kind},
                )
            ],
            dialect.read_clock(now),
        )
    return True


def filed(limit: int) -> list[Reply]:
    """Return filed replies that are not settled, the oldest steps first."""
    rows = dialect.fetch(
        "SELECT id, claim_id, attempt, reply FROM workers_step WHERE reply IS NOT NULL"
        " ORDER BY id LIMIT %s",
        [limit],
    )
    return [_read(*row) for row in rows]


def of(step_ids: Sequence[int]) -> list[Reply]:
    """Return the replies filed on these steps that are not settled."""
    rows = dialect.fetch(
        "SELECT id, claim_id, attempt, reply FROM workers_step"
        f" WHERE {dialect.among('id')} AND reply IS NOT NULL ORDER BY id",
        [dialect.id_list(step_ids)],
    )
    return [_read(*row) for row in rows]


def _read(step_id: int, claim_id: Any, attempt: int, body: Any) -> Reply:
    try:
        return replace(Reply.from_wire(dialect.document(body)), is_filed=True)
    except MessageError as error:
        # Code of another version filed it; left alone, it would be read again forever.  The outcome
        # of the call is unknown, so the step stays in doubt.
        fault = FaultRecord("transient", "reply_unreadable", str(error))
        return Reply(step_id, UUID(str(claim_id)), attempt, fault=fault, is_filed=True)
