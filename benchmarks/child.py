"""A process of its own for each measurement: one JSON object is its last line."""

import json
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.exceptions import Unavailable, Wrong

UNAVAILABLE, WRONG = 3, 4


def serve(cases: Mapping[str, Callable[..., Any]], words: Sequence[str]) -> None:
    """Run the case that ``words`` name, with the run folder, and print what it found."""
    if not words or words[0] not in cases:
        raise SystemExit(f"Name one of {', '.join(cases)}.")
    # Processes that a case has started are ended by its own exits.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    folder = Path(os.environ["SAS_RUN_DIR"])
    try:
        found = cases[words[0]](folder, *words[1:])
    except Unavailable as error:
        print(error, file=sys.stderr)
        raise SystemExit(UNAVAILABLE) from None
    except Wrong as error:
        print(error, file=sys.stderr)
        raise SystemExit(WRONG) from None
    print(json.dumps(found))


_folders: list[tempfile.TemporaryDirectory[str]] = []


def ensure_folder() -> None:
    """Have a run folder; must come before Django's settings, which read where it is.

    One made here, because somebody runs a measurement by hand, goes with the process.
    """
    if "SAS_RUN_DIR" not in os.environ:
        _folders.append(tempfile.TemporaryDirectory(prefix="sas-bench-"))
        os.environ["SAS_RUN_DIR"] = _folders[0].name
