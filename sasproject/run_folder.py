"""The run folder: what is kept in files, where no server keeps it."""

import os
from pathlib import Path

#: Schemes by which a database, messages and mails are files.
_FILES = ("sqlite", "filesystem", "filemail")


def is_needed(*urls: str) -> bool:
    """Say whether something is kept in files; an empty URL means that it is."""
    return any(not url or url.partition(":")[0] in _FILES for url in urls)


def make(folder: Path) -> None:
    """Make the folder unless it is there; raise ``PermissionError`` if it cannot be written."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not os.access(folder, os.W_OK):
        raise PermissionError(f"{folder} cannot be written")
