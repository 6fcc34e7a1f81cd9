"""What the kernel knows about processes: who is whose child, and which belong to a stack."""

import os
import signal
from pathlib import Path

# Every process of a stack carries its run folder in this variable and hands it down, so that
# a later stack in the folder recognises what is left, whatever the process ids are by then.
MARK = "SAS_STACK_RUN"

PROC = Path("/proc")


def mark(run_dir: Path) -> dict[str, str]:
    """Return the environment variables by which ``marked`` recognises a process."""
    # Servers that show a title of their own write it over their environment; the package
    # setproctitle, which Celery and gunicorn use where it is installed, then leaves it alone.
    return {MARK: str(run_dir), "SPT_NOENV": "1"}


def children(pid: int) -> list[int]:
    """Return the process ids of ``pid``'s living children, oldest first."""
    found: set[int] = set()
    # The kernel lists children by the thread that made them.
    for listing in PROC.glob(f"{pid}/task/*/children"):
        try:
            found.update(int(child) for child in listing.read_text().split())
        except OSError:  # the thread ended meanwhile
            continue
    return sorted(found)


def marked(run_dir: Path) -> list[int]:
    """Return the process ids that a stack in ``run_dir`` started, this process left out."""
    pids = (int(folder.name) for folder in PROC.glob("[0-9]*"))
    return [pid for pid in pids if pid != os.getpid() and _is_marked(pid, run_dir)]


def kill_marked(pid: int, run_dir: Path) -> bool:
    """Kill a process that a stack in ``run_dir`` started, as a crash would.

    False, with nothing done, where it has ended, is another's, or the system does not say whose.
    """
    if not hasattr(os, "pidfd_open"):
        return False
    try:
        # Held from before the look at it, so that nobody else can come to have its id.
        handle = os.pidfd_open(pid)
    except OSError:  # it has ended
        return False
    try:
        if not _is_marked(pid, run_dir):
            return False
        signal.pidfd_send_signal(handle, signal.SIGKILL)
    except ProcessLookupError:  # it ended meanwhile
        return False
    finally:
        os.close(handle)
    return True


def _is_marked(pid: int, run_dir: Path) -> bool:
    try:
        environment = (PROC / str(pid) / "environ").read_bytes().split(b"\0")
    except OSError:  # ended, or someone else's
        return False
    return f"{MARK}={run_dir}".encode() in environment
