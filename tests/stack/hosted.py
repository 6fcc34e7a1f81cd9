"""A runner in a process of its own, to be signalled and killed by tests.

Run by `-m tests.stack.hosted <run folder>`.  Prints "ready" when its roles are up.
"""

import signal
import sys
from pathlib import Path

from sasproject.stack import leftovers
from sasproject.stack.console import Console
from sasproject.stack.exceptions import StackError
from sasproject.stack.folder import RunFolder
from sasproject.stack.runner import Runner

from . import fakes


def main() -> None:
    folder = RunFolder(Path(sys.argv[1]))
    try:
        folder.claim()
    except StackError as error:
        sys.exit(str(error))
    ended = leftovers.end(folder.path, patience=1)
    runner = Runner(
        [fakes.role("broker", first=True, stage=1), fakes.role("web", fakes.FAMILY)],
        folder,
        Console(sys.stderr),
        start_timeout=10,
    )
    signal.signal(signal.SIGTERM, lambda number, frame: runner.request_stop())
    if runner.start():
        sys.stdout.write(f"ready, ended {ended}\n")
        sys.stdout.flush()
    runner.wait()


if __name__ == "__main__":
    main()
