"""Installs the wheel with each combination of versions and runs the foreign project's test:
checks, migrations, a worker and Beat, claims under kill -9, the admin's pages.

Needs PostgreSQL, RabbitMQ, a package index, and each Python under its name (python3.12); a
combination whose Python is missing is counted as not run.
"""

import argparse
import os
import sys
import time
from dataclasses import dataclass

from tests import programs
from tests.matrix import PINS, PYTHON

TEST = "tests/foreign_project/test_foreign_project.py"


@dataclass(frozen=True, slots=True)
class Combination:
    python: str
    django: str
    celery: str

    def __str__(self) -> str:
        return f"Python {self.python}, Django {self.django}, Celery {self.celery}"

    @property
    def pins(self) -> str:
        """Return requirements for pip, the newest patch release of each."""
        django = "django" if self.django == "newest" else f"django~={self.django}.0"
        return f"{django} celery~={self.celery}.0"


#: Each version at least once, the oldest with the oldest and the newest with the newest.
COMBINATIONS = (
    Combination("3.11", "5.2", "5.4"),
    Combination("3.12", "5.2", "5.5"),
    Combination("3.13", "5.2", "5.6"),
    Combination("3.12", "newest", "5.7"),
    Combination("3.13", "newest", "5.7"),
)


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.matrix", description=__doc__)
    parser.add_argument("--only", default="", help="combinations that contain this text")
    only = parser.parse_args(words).only
    chosen = [one for one in COMBINATIONS if only in str(one)]
    results = {str(combination): _try(combination) for combination in chosen}
    width = max(map(len, results), default=0)
    for name, result in results.items():
        print(f"{name:<{width}}  {result}")
    return int(not results or any(result != "passed" for result in results.values()))


def _try(combination: Combination) -> str:
    python = _interpreter(combination.python)
    if python is None:
        return "not run: there is no such Python"
    print(f"{combination} ...", flush=True)
    began = time.monotonic()
    run = programs.python(
        *("-m", "pytest", "-q", "-p", "no:cacheprovider"),
        TEST,
        env={**os.environ, PYTHON: python, PINS: combination.pins},
    )
    print(f"  {time.monotonic() - began:.0f} s", flush=True)
    if run.returncode != 0:
        print(run.stdout[-4000:], flush=True)
        return "failed"
    # A test that was skipped proves nothing.
    return "passed" if "1 passed" in run.stdout else "not run: " + run.stdout[-200:].strip()


def _interpreter(version: str) -> str | None:
    try:
        asked = programs.run(
            f"python{version}",
            "-c",
            "import sys; print(sys.executable)",
            env={**os.environ, "PYENV_VERSION": version},
        )
    except FileNotFoundError:
        return None
    return asked.stdout.strip() or None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
