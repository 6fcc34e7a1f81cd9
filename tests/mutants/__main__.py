"""`make mutants`: take every guard away once, and require a red test for each.

python -m tests.mutants                 all of them; writes proofs/mutants.md
python -m tests.mutants start lease     only those with one of these words in their name
"""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from queue import SimpleQueue

from tests.mutants import page, running
from tests.mutants.mutant import MUTANTS, POSTGRESQL, Mutant
from tests.mutants.running import Outcome
from tests.services import POSTGRES, answers


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("names", nargs="*", help="parts of guards' names; all without any")
    parser.add_argument("--jobs", type=int, default=2, help="mutants tested at once")
    options = parser.parse_args(words)
    chosen = [
        mutant
        for mutant in MUTANTS
        if not options.names or any(name in mutant.guard for name in options.names)
    ]
    if not chosen:
        parser.error(f"No guard is called {' or '.join(options.names)}.")
    if any(mutant.on == POSTGRESQL for mutant in chosen) and not answers(POSTGRES):
        parser.error("Some guards hold on PostgreSQL only, and none answers (TEST_POSTGRES_URL).")
    with tempfile.TemporaryDirectory(prefix="sas-mutants-") as folder:
        copies = [
            running.copy_to(Path(folder, f"copy{place}")) for place in range(max(1, options.jobs))
        ]
        outcomes = _run(chosen, copies)
        spurious = _red_anyway(outcomes, copies[0])
    survivors = [one for one in outcomes if not one.red]
    for one in survivors:
        print(f"\nNobody noticed: {one.mutant.guard} ({one.mutant.file})\n{one.said}")
    for said in spurious:
        print(f"\nRed with every guard in place:\n{said}")
    print(f"{len(outcomes) - len(survivors)} of {len(outcomes)} guards found missing")
    is_good = not survivors and not spurious
    if is_good and len(chosen) == len(MUTANTS):
        page.write(outcomes, datetime.now(UTC).date())
    return 0 if is_good else 1


def _run(chosen: Sequence[Mutant], copies: Sequence[Path]) -> list[Outcome]:
    free: SimpleQueue[Path] = SimpleQueue()
    for copy in copies:
        free.put(copy)

    def test(mutant: Mutant) -> Outcome:
        copy = free.get()
        try:
            outcome = running.run(mutant, copy, copy.name)
        finally:
            free.put(copy)
        said = outcome.red[0] if outcome.red else "NOBODY NOTICED"
        print(f"{outcome.seconds:6.1f} s  {mutant.guard}: {said}", flush=True)
        return outcome

    with ThreadPoolExecutor(len(copies)) as pool:
        return list(pool.map(test, chosen))


def _red_anyway(outcomes: Sequence[Outcome], copy: Path) -> list[str]:
    """Return what pytest says of tests that are red even where no guard is missing."""
    said = []
    for on in sorted({one.mutant.on for one in outcomes}):
        tests = sorted({one.red[0] for one in outcomes if one.red and one.mutant.on == on})
        if tests:
            green, output = running.are_green(tests, copy, on, copy.name)
            said += [] if green else [output]
    return said


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
