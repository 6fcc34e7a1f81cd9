"""The demo's run folder, emptied so that the store and the ledgers start together."""

import shutil
from pathlib import Path

from sasproject.stack import leftovers
from sasproject.stack.folder import RunFolder

#: This process uses the secret key already, and its children must have the same.
KEPT = ("stack.lock", "secret-key")


def empty(path: Path) -> None:
    """Remove the files and end the processes of an earlier demo in the folder.

    Raises ``StackError`` while another demo runs there.
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
