"""All mutants."""

from tests.mutants import (
    of_agents,
    of_claims,
    of_decisions,
    of_doors,
    of_live,
    of_plain,
    of_resetting,
    of_statements,
    of_taking,
)
from tests.mutants.mutant import Mutant

MUTANTS: tuple[Mutant, ...] = (
    *of_claims.MUTANTS,
    *of_statements.MUTANTS,
    *of_plain.MUTANTS,
    *of_taking.MUTANTS,
    *of_live.MUTANTS,
    *of_resetting.MUTANTS,
    *of_decisions.MUTANTS,
    *of_agents.MUTANTS,
    *of_doors.MUTANTS,
)
