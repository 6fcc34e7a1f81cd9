"""All mutants."""

from tests.mutants import (
    of_agents,
    of_claims,
    of_decisions,
    of_doors,
    of_ends,
    of_evidence,
    of_figures,
    of_guests,
    of_incidents,
    of_inputs,
    of_jobs,
    of_letters,
    of_live,
    of_mixed_code,
    of_neighbours,
    of_people,
    of_shifts,
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
    *of_ends.MUTANTS,
    *of_mixed_code.MUTANTS,
    *of_evidence.MUTANTS,
    *of_shifts.MUTANTS,
    *of_neighbours.MUTANTS,
    *of_guests.MUTANTS,
)
