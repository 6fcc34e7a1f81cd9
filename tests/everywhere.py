"""`make test`: every test this machine can run, and word of those it cannot.

With ``DATABASE_URL`` set, the suite runs against that database.  Otherwise it runs on
SQLite, and once more on PostgreSQL, for the tests that use the database, where one answers.
"""

import os
import subprocess
import sys
import time

from tests.services import POSTGRES, answers

#: Two at once; who has nothing left takes over what the other has not begun.
SHARED = ["-n", "2", "--dist", "worksteal"]
#: The tests to which the database makes a difference.
OF_THE_DATABASE = [
    *("tests/integration", "tests/concurrency", "tests/shop", "tests/admin"),
    *("tests/api", "tests/testing_kit", "tests/statemachine"),
    *("tests/queue_door", "tests/reporting", "tests/receiving"),
    "tests/guard/test_query_plans.py",
]


def main(words: list[str]) -> int:
    passes = [
        ("every test but the slow ones", ["-m", "not slow and not postgresql", *SHARED], {}),
        ("the slow ones: the whole system as processes", ["-m", "slow"], {}),
    ]
    in_ci = os.environ.get("CI") == "true"
    if "DATABASE_URL" not in os.environ:
        if answers(POSTGRES):
            passes.insert(
                1,
                (
                    "the tests of the database, on PostgreSQL",
                    [*OF_THE_DATABASE, "-m", "not slow and not browser and not sqlite", *SHARED],
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
    if len(passes) == 2 and "DATABASE_URL" not in os.environ:
        print("not run: the tests of the database on PostgreSQL; none answers (TEST_POSTGRES_URL)")
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
