"""A small disk of one server's own, which can be filled to the last byte."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from tests import programs

SIZE_MB = 300
BLOCK = b"\0" * 1_048_576


@contextmanager
def mounted(folder: Path, megabytes: int = SIZE_MB) -> Iterator[None]:
    """Mount a small file system in memory at ``folder`` for the time of a block."""
    size = f"size={megabytes}m,mode=0755"
    programs.run("mount", "-t", "tmpfs", "-o", size, "tmpfs", str(folder), check=True)
    try:
        yield
    finally:
        # Lazily: a process that is just ending may still stand in it.
        programs.run("umount", "--lazy", str(folder))


@cache
def lacks() -> str:
    """Return why nothing can be mounted here; nothing when it can."""
    if os.geteuid() != 0 or shutil.which("mount") is None:
        return "a full disk needs root, to mount a small one"
    folder = Path(tempfile.mkdtemp(prefix="chaos-mount-"))
    try:
        with mounted(folder, 1):
            return ""
    except subprocess.CalledProcessError as error:
        return f"a full disk needs a mount: {error.stderr.decode().strip()}"
    finally:
        folder.rmdir()


def fill(folder: Path) -> Path:
    """Take every byte that is left; return the file to be removed again."""
    ballast = folder / "ballast"
    with ballast.open("ab", buffering=0) as file, suppress(OSError):
        while True:
            file.write(BLOCK)
    return ballast
