"""`make test` and `make test-all`: what this machine can run, and word of what it cannot.

`make test` runs every test once on SQLite but for those that start the whole system, of which
it runs a handful (marked ``smoke``); and those of the engine once more on PostgreSQL.
`make test-all` runs everything, and all to which the database makes a difference on both.
With ``DATABASE_URL`` set, the suite runs against that database.
"""

import os
import subprocess
import sys
import time

from tests.services import POSTGRES, answers

#: Two at once; who has nothing left takes over what the other has not begun.
SHARED = ["-n", "2", "--dist", "worksteal"]
#: The tests in which every statement and lock of the engine is seen.
OF_THE_ENGINE = [
    *("tests/integration", "tests/concurrency", "tests/statemachine"),
    "tests/guard/test_query_plans.py",
]
#: The tests to which the database makes a difference.
OF_THE_DATABASE = [
    *OF_THE_ENGINE,
    *("tests/shop", "tests/admin", "tests/api", "tests/testing_kit"),
    *("tests/queue_door", "tests/reporting", "tests/receiving"),
]
ALL = "--all"


def main(words: list[str]) -> int:
    is_all = ALL in words
    words = [word for word in words if word != ALL]
    whole = "slow" if is_all else "slow and smoke"
    passes = [
        ("every test but the slow ones", ["-m", "not slow and not postgresql", *SHARED], {}),
        ("the whole system as processes", ["-m", whole], {}),
    ]
    in_ci = os.environ.get("CI") == "true"
    if not os.environ.get("DATABASE_URL"):
        if answers(POSTGRES):
            passes.insert(
                1,
                (
                    "the tests of the database, on PostgreSQL",
                    [
                        *(OF_THE_DATABASE if is_all else OF_THE_ENGINE),
                        *("-m", "not slow and not browser and not sqlite", *SHARED),
                    ],
                    {"DATABASE_URL": POSTGRES},
                ),
            )
        elif in_ci:
            print("No PostgreSQL answers; CI must have it.", file=sys.stderr)
            return 1
    began = time.monotonic()
    results = [_run(title, [*options, *words], env) for title, options, env in passes]
    for title, _, seconds, code in results:
        print(f"{'passed' if code == 0 else 'FAILED':7} {seconds:6.0f} s  {title}")
    if len(passes) == 2 and not os.environ.get("DATABASE_URL"):
        print("not run: the tests of the database on PostgreSQL; none answers (TEST_POSTGRES_URL)")
    if not is_all:
        print("left to `make test-all`: the other tests that start the whole system")
    print(f"{time.monotonic() - began:.0f} s in all")
    return max(code for *_, code in results)


def _run(
    title: str, options: list[str], environment: dict[str, str]
) -> tuple[str, list[str], float, int]:
    print(f"\n{title}\n", flush=True)
    began = time.monotonic()
    words = [sys.executable, "-m", "pytest", *options]
    done = subprocess.run(words, env={**os.environ, **environment}, check=False)
    return title, options, time.monotonic() - began, done.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
