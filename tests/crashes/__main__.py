"""Kills a process at every named point, each time it is reached and with both fates of its
messages, on SQLite and on PostgreSQL, and has another heal what it left: `make crashes`.
Prints a line each 50 crashes and a summary. Words given are pytest's: `-k NAME` chooses
scenarios. With DATABASE_URL in the environment it runs on that database alone.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.crashes.report import VARIABLE
from tests.services import POSTGRES, answers


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.crashes", usage="%(prog)s [-h] [WORD ...]", description=__doc__
    )
    _, words = parser.parse_known_args(words)
    databases = {"SQLite": {}}
    if "DATABASE_URL" in os.environ:
        databases = {"DATABASE_URL": {}}
    elif answers(POSTGRES):
        databases["PostgreSQL"] = {"DATABASE_URL": POSTGRES}
    else:
        print("not run on PostgreSQL; none answers (TEST_POSTGRES_URL)")
    codes = [_run(name, environment, words) for name, environment in databases.items()]
    return max(codes)


def _run(database: str, environment: dict[str, str], words: list[str]) -> int:
    print(f"\non {database}\n", flush=True)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="sas-crashes-") as folder:
        path = Path(folder) / "report"
        path.touch()
        told = {"CRASHES": "full", VARIABLE: str(path)}
        command = [sys.executable, "-m", "pytest", "tests/crashes", "-q", "-n", "2", *words]
        # A scenario is a test, and a thousand crashes: ten minutes are no sign that it hangs.
        command += ["-o", "faulthandler_timeout=3600"]
        run = subprocess.Popen(command, env={**os.environ, **environment, **told})
        done: list[dict[str, Any]] = []
        with path.open() as lines:
            while run.poll() is None:
                time.sleep(1)
                done += _tell(lines.readlines())
            done += _tell(lines.readlines())
    points = {point for one in done for point in one["points"]}
    crashes = sum(one["crashes"] for one in done)
    seconds = time.monotonic() - began
    verdict, code = _verdict(run.returncode, crashes)
    print(
        f"\n{database}: {len(done)} scenarios, {len(points)} points, {crashes} crashes,"
        f" {seconds:.0f} s: {verdict}",
        flush=True,
    )
    return code


def _verdict(code: int, crashes: int) -> tuple[str, int]:
    """Return what a run came to, and its exit code: where nothing was killed nothing was shown."""
    if code:
        return "FAILED", code
    return ("all healed", 0) if crashes else ("nothing was killed", 1)


def _tell(lines: list[str]) -> list[dict[str, Any]]:
    """Print lines of the report; return the scenarios that are over."""
    over = []
    for line in lines:
        one = json.loads(line)
        if "done" in one:
            print(f"  {one['scenario']}: {one['done']} of {one['of']}", flush=True)
        else:
            found = (one["scenario"], len(one["points"]), one["crashes"], one["seconds"])
            print("{:24} {:3} points {:5} crashes {:7.1f} s".format(*found), flush=True)
            over.append(one)
    return over


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
