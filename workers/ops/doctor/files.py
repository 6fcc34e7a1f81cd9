"""Files: room on the disks that are written to, and disks that SQLite cannot lock on."""

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from celery import current_app
from django.conf import settings
from django.db import connection

from workers.definitions.sentences import say as _
from workers.ops.doctor.connecting import FILES, broker_is
from workers.ops.doctor.finding import Finding, error, ok, warning
from workers.ops.doctor.registry import Need, probe

MOUNTS = Path("/proc/mounts")
#: Kinds of file systems on which SQLite's locks and its shared memory cannot be relied on.
NETWORK = ("nfs", "cifs", "smb", "9p", "fuse.sshfs", "fuse.glusterfs", "ceph", "afs", "lustre")
LITTLE_BYTES, NEXT_TO_NOTHING_BYTES = 1024**3, 100 * 1024**2


@probe("files", needs=Need.NOTHING)
def disks_have_room() -> Iterable[Finding]:
    """Check the disks of files that this installation writes, if any: database, messages, mails.

    No SQL says how full a server's disk is: see "Operating limits" in the documentation.
    """
    folders = [*_database(), *_messages()]
    if folders or getattr(settings, "EMAIL_FILE_PATH", None):
        folder = Path(getattr(settings, "RUN_DIR", "."))
        folders = [folder, *folders]
        if not folder.is_dir() or not os.access(folder, os.W_OK):
            yield error(
                _("the run folder %(folder)s cannot be written to", folder=folder),
                _("The embedded database, message files and mails are kept there."),
                _("Create it, make it writable for this user, or point SAS_RUN_DIR elsewhere."),
            )
    for path in _one_per_disk(folders):
        free = shutil.disk_usage(path).free
        if free < LITTLE_BYTES:
            level = error if free < NEXT_TO_NOTHING_BYTES else warning
            yield level(
                _(
                    "%(size)d MB are left on the disk of %(folder)s",
                    size=free // 1024**2,
                    folder=str(path),
                ),
                _("A full disk fails every write there, and with SQLite every order."),
                _("Make room."),
            )
        else:
            yield ok(
                _(
                    "%(size)d GB are left on the disk of %(folder)s",
                    size=free // 1024**3,
                    folder=str(path),
                )
            )


def _database() -> list[Path]:
    if connection.vendor != "sqlite":
        return []
    return [Path(str(connection.settings_dict["NAME"])).absolute().parent]


def _messages() -> list[Path]:
    if not broker_is(FILES):
        return []
    options = current_app.conf.broker_transport_options
    return [Path(options[name]) for name in ("data_folder_in", "data_folder_out")]


def _one_per_disk(folders: list[Path]) -> Iterable[Path]:
    """Return the first existing folder on each disk."""
    return {path.stat().st_dev: path for path in reversed(folders) if path.is_dir()}.values()


@probe("files", needs=Need.NOTHING, applies=lambda: connection.vendor == "sqlite")
def sqlite_is_on_a_local_disk() -> Iterable[Finding]:
    """Check the kind of file system that SQLite's file lies on."""
    kind = file_system(Path(str(connection.settings_dict["NAME"])))
    if kind.startswith(NETWORK):
        yield error(
            _("SQLite's file is on %(kind)s", kind=kind),
            _("File locks are unreliable there: two processes may write at once and corrupt it."),
            _("Put it on a local disk, or use PostgreSQL."),
        )


def file_system(path: Path) -> str:
    """Return the kind of file system a path lies on; empty if the system does not say."""
    try:
        lines = MOUNTS.read_text(encoding="utf-8").splitlines()
    except OSError:
        return ""
    mounts = [(Path(fields[1]), fields[2]) for line in lines if len(fields := line.split()) > 2]
    around = {path.absolute(), *path.absolute().parents}
    candidates = [(len(point.parts), kind) for point, kind in mounts if point in around]
    return max(candidates, default=(0, ""))[1]
