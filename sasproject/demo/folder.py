"""The demo's run folder: emptied, so that the store and the ledgers begin together."""

import shutil
from pathlib import Path

from sasproject.stack import leftovers
from sasproject.stack.folder import RunFolder

#: The key is in use by this process already, and its children must have the same.
KEPT = ("stack.lock", "secret-key")


def empty(path: Path) -> None:
    """Remove what an earlier demo left in its folder, its processes included.

    Raises ``StackError`` while another demo lives there.
    """
    folder = RunFolder(path)
    folder.claim()
    try:
        leftovers.end(path)
        for entry in path.iterdir():
            if entry.name in KEPT:
                continue
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            else:
                entry.unlink(missing_ok=True)
    finally:
        folder.release()
