"""Claims that a statement has made where the rows lie, in the columns of its answer."""

from typing import NamedTuple
from uuid import UUID

from workers.store.claims.claim_steps import Claim
from workers.store.db import dialect
from workers.store.locked.contexts import Context


class Made(NamedTuple):
    """A claimed step, and what its request is built from."""

    id: int
    process_id: int
    agent: str
    attempt: int
    name: str
    timeout_seconds: int
    key: str
    failure_count: int
    workflow: str
    version: int
    subject: str
    #: JSON texts: the process's input, and by step the results; None: too large to come along.
    input: str
    results: str | None

    @property
    def context(self) -> Context | None:
        """Return what a request is built from; None where that is to be read."""
        if self.input == dialect.LARGE or self.results is None:
            return None
        given, results = dialect.decode(self.input), dialect.decode(self.results)
        return Context(self.workflow, self.version, self.subject, given, results)

    def claim(self, claim_id: UUID, in_flight: int) -> Claim:
        return Claim(
            step_id=self.id,
            process_id=self.process_id,
            claim_id=claim_id,
            attempt=self.attempt,
            step=self.name,
            agent=self.agent,
            timeout_seconds=self.timeout_seconds,
            key=self.key,
            failure_count=self.failure_count,
            in_flight=in_flight,
            context=self.context,
        )


#: SQL for the results of rows e (name, result, size) as one JSON text; null: too large together.
RESULTS = (
    "CASE WHEN COALESCE(max(e.size), 0) < 2000 AND COALESCE(sum(e.size), 0) < 8000 THEN '{' ||"
    # Within the aggregate, too: what is large is not even read.
    " COALESCE(string_agg(CASE WHEN e.size < 2000 THEN to_json(e.name)::text || ':' ||"
    " e.result::text END, ','), '') || '}' END"
)
