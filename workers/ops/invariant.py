"""What an invariant of the state store is."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Invariant:
    name: str
    says: str
    #: SELECT of (subject, what is wrong) for the rows of ``{some}`` processes that break it.
    broken: str
    #: The column with the process's id, which ``{some}`` restricts.  ``{some_journal}`` restricts
    #: the rows ``j`` of the journal in the same way.
    of: str = "p.id"
    #: SELECT of rows that belong to no process.
    strays: str = ""
