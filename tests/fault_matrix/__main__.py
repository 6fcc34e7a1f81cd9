"""`make faults`: run the tests that are marked with a fault, and write the fault matrix.

python -m tests.fault_matrix             once on SQLite, and on PostgreSQL where one answers
python -m tests.fault_matrix --runs 5    five times each
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from tests.everywhere import OF_THE_DATABASE
from tests.fault_matrix import page
from tests.services import POSTGRES, answers


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fault_matrix", description=__doc__)
    parser.add_argument("--runs", type=int, default=1, help="how often everything is run")
    parser.add_argument("--fast", action="store_true", help="without the tests marked slow")
    options = parser.parse_args(words)
    slow = "" if not options.fast else " and not slow"
    passes = [([f"fault and not postgresql{slow}"], {})]
    if answers(POSTGRES):
        # Slow ones bring databases of their own.
        words_there = ["fault and not sqlite and not slow", *OF_THE_DATABASE]
        passes.append((words_there, {"DATABASE_URL": POSTGRES}))
    with tempfile.TemporaryDirectory(prefix="sas-faults-") as folder:
        results = Path(folder, "results.jsonl")
        for _ in range(options.runs):
            for (marks, *paths), environment in passes:
                _run(marks, paths, {**environment, "FAULT_RESULTS": str(results)})
        found = [json.loads(line) for line in results.read_text().splitlines()]
    page.write(found, datetime.now(UTC).date())
    failed = sorted({one["test"] for one in found if one["outcome"] == "failed"})
    print(f"{len(found)} results in {page.PATH}; failed: {', '.join(failed) or 'none'}")
    return 1 if failed or not found else 0


def _run(marks: str, paths: Sequence[str], environment: dict[str, str]) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-m", marks, *paths]
    command += ["-p", "tests.fault_matrix.plugin", "-p", "no:cacheprovider"]
    subprocess.run(command, env={**os.environ, **environment}, cwd=page.ROOT, check=False)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
