"""`make test` and `make test-all`: what this machine can run, and word of what it cannot.

`make test` runs a test of every promise: all tests once on SQLite but for those in browsers, those
that prove by many of a kind (marked ``volume``) and those that start the whole system, of which
it runs a handful (marked ``smoke``) beside the others; and those of locks and plans on PostgreSQL.
Of the pairs of verbs that meet in the race matrix it draws a few.
In CI (``CI=true``) it leaves out no browser, no volume and no pair, and runs all tests of the
engine on PostgreSQL as well.
`make test-all` runs everything, and all to which the database makes a difference on both.
With ``DATABASE_URL`` set, the suite runs against that database.
"""

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from tests.services import POSTGRES, answers

#: Two at once; who has nothing left takes over what the other has not begun.
SHARED = ["-n", "2", "--dist", "worksteal"]
#: The tests in which locks and plans are seen, and all that make sense on PostgreSQL only.
OF_LOCKS = [
    *("tests/concurrency", "tests/canaries"),
    *("tests/guard/test_query_plans.py", "tests/guard/test_list_plans.py"),
    *("tests/receiving/test_taking.py", "tests/views/test_probes.py"),
    "tests/benchmarks/test_population.py",
]
#: Those in which every statement of the engine is seen.
OF_THE_ENGINE = [*OF_LOCKS, "tests/integration", "tests/statemachine"]
#: The tests to which the database makes a difference.
OF_THE_DATABASE = [
    *OF_THE_ENGINE,
    *("tests/shop", "tests/admin", "tests/api", "tests/testing_kit"),
    *("tests/queue_door", "tests/reporting", "tests/receiving"),
]
ON_POSTGRES = "not slow and not browser and not sqlite"
#: What `make test` leaves to CI and `make test-all`.
SHORT = " and not browser and not volume"
#: Tests start hundreds of processes, each of which would compile the code where this is set.
COMPILED_ONCE = {"PYTHONDONTWRITEBYTECODE": ""}
ALL = "--all"


@dataclass(frozen=True)
class Result:
    title: str
    seconds: float
    code: int

    def __str__(self) -> str:
        return f"{'FAILED' if self.code else 'passed':7} {self.seconds:6.0f} s  {self.title}"


@dataclass(frozen=True)
class Pass:
    """One run of pytest."""

    title: str
    options: list[str]
    environment: dict[str, str] = field(default_factory=dict)

    def run(self, words: list[str], *, is_shown: bool = True) -> Result:
        """Run it; what it prints is shown as it comes, or in one piece once it is over."""
        heading = f"\n{self.title}\n"
        if is_shown:
            print(heading, flush=True)
        began = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *self.options, *words],
            env={**os.environ, **COMPILED_ONCE, **self.environment},
            stdout=None if is_shown else subprocess.PIPE,
            stderr=None if is_shown else subprocess.STDOUT,
            text=True,
            check=False,
        )
        seconds = time.monotonic() - began
        if not is_shown:
            print(f"{heading}\n{done.stdout}", flush=True)
        return Result(self.title, seconds, done.returncode)


def main(words: list[str]) -> int:
    is_all = ALL in words
    words = [word for word in words if word != ALL]
    is_ci = os.environ.get("CI") == "true"
    is_short = not (is_all or is_ci)
    has_own = bool(os.environ.get("DATABASE_URL"))
    has_postgres = not has_own and answers(POSTGRES)
    if not has_own and not has_postgres and is_ci:
        print("No PostgreSQL answers; CI must have it.", file=sys.stderr)
        return 1
    short = SHORT if is_short else ""
    which = ["-m", "not slow and not postgresql" + short, *SHARED]
    passes = [Pass("every test but the slow ones", which)]
    if has_postgres:
        paths = OF_THE_DATABASE if is_all else OF_THE_ENGINE if is_ci else OF_LOCKS
        title = "the tests of the database, on PostgreSQL"
        which = [*paths, "-m", ON_POSTGRES + short, *SHARED]
        few = {"RACE_MATRIX": "few"} if is_short else {}
        passes.append(Pass(title, which, {"DATABASE_URL": POSTGRES, **few}))
    slow = "slow" if is_all else f"slow and smoke{short}"
    whole = Pass("the whole system as processes", ["-m", slow])
    began = time.monotonic()
    if is_all:
        passes.append(whole)
        results = [one.run(words) for one in passes]
    else:
        # A handful, which mostly waits: the others have the cores meanwhile.
        with ThreadPoolExecutor() as beside:
            ending = beside.submit(whole.run, words, is_shown=False)
            results = [*(one.run(words) for one in passes), ending.result()]
    for result in results:
        print(result)
    if not has_own and not has_postgres:
        print("not run: the tests of the database on PostgreSQL; none answers (TEST_POSTGRES_URL)")
    if is_short:
        print("left to CI and `make test-all`: tests in browsers, those marked volume, most pairs")
    if not is_all:
        print("left to `make test-all`: the other tests that start the whole system")
    print(f"{time.monotonic() - began:.0f} s in all")
    return max(result.code for result in results)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
