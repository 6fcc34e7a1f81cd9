"""All mutants."""

from tests.mutants import (
    of_agents,
    of_claims,
    of_decisions,
    of_doors,
    of_live,
    of_statements,
)
from tests.mutants.mutant import Mutant

MUTANTS: tuple[Mutant, ...] = (
    *of_claims.MUTANTS,
    *of_statements.MUTANTS,
    *of_live.MUTANTS,
    *of_decisions.MUTANTS,
    *of_agents.MUTANTS,
    *of_doors.MUTANTS,
)
