"""Processes in /proc: their children, and those that belong to a stack."""

import os
import signal
from pathlib import Path

# Every process of a stack has its run folder in this variable, which its children inherit, so that
# a later stack in the folder recognises leftovers independently of their process ids.
MARK = "SAS_STACK_RUN"

PROC = Path("/proc")


def mark(run_dir: Path) -> dict[str, str]:
    """Return the environment variables by which ``marked`` recognises a process."""
    # Process titles overwrite the environment; SPT_NOENV keeps setproctitle, which Celery and
    # gunicorn use if it is installed, from doing that.
    return {MARK: str(run_dir), "SPT_NOENV": "1"}


def children(pid: int) -> list[int]:
    """Return the process ids of ``pid``'s living children, oldest first."""
    pids: set[int] = set()
    # The kernel lists children by the thread that started them.
    for listing in PROC.glob(f"{pid}/task/*/children"):
        try:
            pids.update(int(child) for child in listing.read_text().split())
        except OSError:  # the thread ended meanwhile
            continue
    return sorted(pids)


def marked(run_dir: Path) -> list[int]:
    """Return the ids of processes that a stack in ``run_dir`` started, without this process."""
    pids = (int(folder.name) for folder in PROC.glob("[0-9]*"))
    return [pid for pid in pids if pid != os.getpid() and _is_marked(pid, run_dir)]


def kill_marked(pid: int, run_dir: Path) -> bool:
    """Kill a process that a stack in ``run_dir`` started, as a crash would.

    False, with nothing done, if it has ended, is not the stack's, or cannot be identified here.
    """
    if not hasattr(os, "pidfd_open"):
        return False
    try:
        # Opened before the check, so that the id cannot be reused by another process.
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
