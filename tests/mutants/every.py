"""All mutants."""

from tests.mutants import (
    of_agents,
    of_claims,
    of_decisions,
    of_doors,
    of_figures,
    of_incidents,
    of_inputs,
    of_jobs,
    of_letters,
    of_live,
    of_people,
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
    *of_inputs.MUTANTS,
    *of_letters.MUTANTS,
    *of_incidents.MUTANTS,
    *of_jobs.MUTANTS,
    *of_figures.MUTANTS,
    *of_people.MUTANTS,
)
