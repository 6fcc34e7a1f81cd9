"""What the kernel knows about processes: who is whose child, and which belong to a stack."""

import os
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
    wanted = f"{MARK}={run_dir}".encode()
    found = []
    for folder in PROC.glob("[0-9]*"):
        try:
            environment = (folder / "environ").read_bytes().split(b"\0")
        except OSError:  # ended, or someone else's
            continue
        if wanted in environment and int(folder.name) != os.getpid():
            found.append(int(folder.name))
    return found
