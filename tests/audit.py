"""`make audit`: known vulnerabilities of what is installed with us, where the service answers.

pip-audit passes over packages that it cannot look up, and succeeds: here it is said how many
were looked up, and a machine that reaches no service is told so instead of reassured.
"""

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests import programs

SECONDS = 180
COMMAND = ["-m", "pip_audit", "--no-deps", "--disable-pip", "--progress-spinner", "off"]

Run = Callable[[str], "subprocess.CompletedProcess[str]"]


@dataclass(frozen=True, slots=True)
class Audit:
    """What came of one requirements file."""

    looked_up: int
    skipped: int
    found: tuple[str, ...]
    problem: str = ""


def audit(file: str, run: Run) -> Audit:
    """Look up every package that a requirements file pins."""
    try:
        done = run(file)
        report: list[dict[str, Any]] = json.loads(done.stdout)["dependencies"]
    except subprocess.TimeoutExpired:
        return Audit(0, 0, (), f"no answer within {SECONDS} s")
    except (ValueError, KeyError):
        last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        return Audit(0, 0, (), last[:300])
    looked_up = [one for one in report if "skip_reason" not in one]
    found = tuple(
        f"{one['name']} {one['version']}: {bug['id']}, mended in "
        f"{', '.join(bug['fix_versions']) or 'no version yet'}"
        for one in looked_up
        for bug in one["vulns"]
    )
    return Audit(len(looked_up), len(report) - len(looked_up), found)


def tell(file: str, result: Audit) -> int:
    """Print what came of a file; return the exit code."""
    if result.found:
        sys.stdout.writelines(f"{line}\n" for line in result.found)
        return 1
    if not result.looked_up:
        reason = result.problem or "its service knows none of the packages"
        sys.stdout.write(f"{file}: NOT audited: {reason}\n")
        return 0
    passed_over = f", {result.skipped} could not be looked up" if result.skipped else ""
    sys.stdout.write(f"{file}: {result.looked_up} packages without a known one{passed_over}\n")
    return 0


def _run(file: str) -> "subprocess.CompletedProcess[str]":
    return programs.python(*COMMAND, "-f", "json", "-r", file, seconds=SECONDS)


def main() -> int:
    files = ("requirements.txt", "requirements-dev.txt")
    return max(tell(file, audit(file, _run)) for file in files)


if __name__ == "__main__":
    sys.exit(main())
