"""The run folder, for database, messages and mails that are files."""

import os
from pathlib import Path

#: URL schemes that keep a database, messages or mails in files.
_FILES = ("sqlite", "filesystem", "filemail")


def is_needed(*urls: str) -> bool:
    """Say whether any URL keeps something in files; an empty URL does."""
    return any(not url or url.partition(":")[0] in _FILES for url in urls)


def make(folder: Path) -> None:
    """Create the folder if it is missing; raise ``PermissionError`` if it is not writable."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not os.access(folder, os.W_OK):
        raise PermissionError(f"{folder} cannot be written")
