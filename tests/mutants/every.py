"""All mutants."""

from tests.mutants import of_agents, of_claims, of_decisions
from tests.mutants.mutant import Mutant

MUTANTS: tuple[Mutant, ...] = (*of_claims.MUTANTS, *of_decisions.MUTANTS, *of_agents.MUTANTS)
