"""Roles that cost nothing: bare interpreters that sleep, fork, refuse to end or fail."""

import os
import sys
from pathlib import Path
from typing import Any

from sasproject.stack.role import Role

SLEEP = "print('up', flush=True)\nimport time\ntime.sleep(600)"
FAIL = "import sys\nprint('no such table: orders', flush=True)\nsys.exit(3)"
STUBBORN = (
    "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    "print('up', flush=True)\ntime.sleep(600)"
)
# Like a server with a worker: the child notices by itself that its parent has gone.
FAMILY = """
import os, signal, time
parent = os.getpid()
if os.fork() == 0:
    while os.getppid() == parent:
        time.sleep(0.1)
    os._exit(0)
print('up', flush=True)
time.sleep(600)
"""
# Its child goes on for ever.
CARELESS = """
import os, time
if os.fork() == 0:
    time.sleep(600)
print('up', flush=True)
time.sleep(600)
"""


def role(name: str, code: str = SLEEP, **options: Any) -> Role:
    """Return a role that runs ``code`` and is ready when it has printed "up"."""
    argv = (sys.executable, "-I", "-S", "-c", code)
    return Role(name, argv, dict(os.environ), **{"ready_line": "up", "grace": 5.0, **options})


def alive(pid: int) -> bool:
    """Tell whether the process runs; a dead one that nobody has reaped yet does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"
