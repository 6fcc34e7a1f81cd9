"""Files: room on the disks that are written to, and disks that SQLite cannot lock on."""

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from django.conf import settings
from django.db import connection

from workers.doctor.finding import Finding, error, ok, warning
from workers.doctor.registry import Need, probe

MOUNTS = Path("/proc/mounts")
#: Kinds of file systems on which SQLite's locks and its shared memory cannot be relied on.
NETWORK = ("nfs", "cifs", "smb", "9p", "fuse.sshfs", "fuse.glusterfs", "ceph", "afs", "lustre")
LITTLE_BYTES, NEXT_TO_NOTHING_BYTES = 1024**3, 100 * 1024**2


@probe("files", needs=Need.NOTHING)
def disks_have_room() -> Iterable[Finding]:
    """Look at the disk of the run folder, and whether it can be written to."""
    folder = Path(getattr(settings, "RUN_DIR", "."))
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        yield error(
            f"the run folder {folder} cannot be written to",
            "The embedded database, message files and logs of `stack` live there.",
            "Make it, or give SAS_RUN_DIR another one.",
        )
        return
    free = shutil.disk_usage(folder).free
    if free < LITTLE_BYTES:
        level = error if free < NEXT_TO_NOTHING_BYTES else warning
        yield level(
            f"{free // 1024**2} MB are left on the disk of {folder}",
            "A full disk fails every write there, and with SQLite every order.",
            "Make room.",
        )
    else:
        yield ok(f"{free // 1024**3} GB are left on the disk of the run folder")


@probe("files", needs=Need.NOTHING)
def sqlite_is_on_a_local_disk() -> Iterable[Finding]:
    """Look at the kind of file system that SQLite's file lies on."""
    if connection.vendor != "sqlite":
        return
    kind = file_system(Path(str(connection.settings_dict["NAME"])))
    if kind.startswith(NETWORK):
        yield error(
            f"SQLite's file lies on {kind}",
            "Its locks do not hold there: two processes may write at once and destroy it.",
            "Put it on a local disk, or use PostgreSQL.",
        )


def file_system(path: Path) -> str:
    """Return the kind of file system a path lies on; empty where the system does not say."""
    try:
        lines = MOUNTS.read_text(encoding="utf-8").splitlines()
    except OSError:
        return ""
    mounts = [(Path(fields[1]), fields[2]) for line in lines if len(fields := line.split()) > 2]
    around = {path.absolute(), *path.absolute().parents}
    found = [(len(point.parts), kind) for point, kind in mounts if point in around]
    return max(found, default=(0, ""))[1]
