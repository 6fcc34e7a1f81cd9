"""Running the tests of mutants, each in a copy of the tree, so that the tree stays as it is."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.mutants.mutant import POSTGRESQL, ROOT, Mutant
from tests.services import POSTGRES

#: What a copy does without: it is large, somebody else's, or made by running.
LEFT_OUT = (".git", ".venv", ".run", "__pycache__", ".mypy_cache", ".ruff_cache", ".pytest_cache")
#: Tests that have not ended by then hang, and a hang is no red test.
LONGEST_SECONDS = 900
OPTIONS = ("-q", "-rf", "--no-header", "--tb=no", "-p", "no:cacheprovider", "-p", "no:randomly")
#: pytest's exit code where tests ran and some failed.
FAILED = 1


@dataclass(frozen=True)
class Outcome:
    mutant: Mutant
    #: The tests that went red; none: nothing noticed that the guard is gone.
    red: tuple[str, ...]
    seconds: float
    #: The end of what pytest said.
    said: str


def copy_to(folder: Path) -> Path:
    """Copy the tree; return the copy's root."""
    return Path(shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(*LEFT_OUT)))


def run(mutant: Mutant, copy: Path, name: str) -> Outcome:
    """Run a mutant's tests in a copy until one goes red; put the copy's file back.

    ``name`` tells databases of copies apart that are in use at once.
    """
    path = copy / mutant.file
    before = path.read_text()
    path.write_text(mutant.applied(before))
    try:
        return _outcome(mutant, copy, name)
    finally:
        path.write_text(before)


def _outcome(mutant: Mutant, copy: Path, name: str) -> Outcome:
    began = time.monotonic()
    words = ["-x", "-m", "not slow and not browser", *mutant.tests]
    code, said = _pytest(words, copy, mutant.on, name)
    red = tuple(failed(said)) if code == FAILED else ()
    return Outcome(mutant, red, time.monotonic() - began, said[-2000:])


def are_green(tests: Sequence[str], copy: Path, on: str, name: str) -> tuple[bool, str]:
    """Say whether tests pass where no guard is missing, and what pytest said."""
    code, said = _pytest(tests, copy, on, name)
    return code == 0, said


def failed(said: str) -> list[str]:
    """Return the tests that pytest says have failed; one that could not even begin is none."""
    lines = [
        line.removeprefix("FAILED ") for line in said.splitlines() if line.startswith("FAILED ")
    ]
    return [line.split(" - ")[0] for line in lines]


def _pytest(words: Sequence[str], copy: Path, on: str, name: str) -> tuple[int, str]:
    environment = {
        key: value for key, value in os.environ.items() if key not in ("DATABASE_URL", "BROKER_URL")
    }
    if on == POSTGRESQL:
        environment["DATABASE_URL"] = f"{POSTGRES}_{name}"
    command = [sys.executable, "-m", "pytest", *OPTIONS, *words]
    try:
        done = subprocess.run(
            command,
            cwd=copy,
            env=environment,
            capture_output=True,
            text=True,
            timeout=LONGEST_SECONDS,
            start_new_session=True,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return -1, f"nothing after {LONGEST_SECONDS} s"
    return done.returncode, done.stdout + done.stderr
