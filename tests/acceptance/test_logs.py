"""What a log line shows: the reasons that our own code gives, and no library's arguments."""

import json
import os
import subprocess
import sys

from tests.acceptance.system import ROOT

SOURCE = """
import logging
from sasproject import logs
logs.configure(json=True, level="INFO")
logging.getLogger("workers.dispatch").warning("hint_refused", extra={"reason": "no route"})
logging.getLogger("celery.app.trace").error("task failed", extra={"data": {"args": "card 4711"}})
"""


def test_our_fields_are_shown_and_a_library_s_are_not() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SOURCE], cwd=ROOT, env=os.environ, capture_output=True, check=True
    )

    ours, theirs = map(json.loads, done.stderr.splitlines())

    assert (ours["event"], ours["reason"]) == ("hint_refused", "no route")
    assert "data" not in theirs
