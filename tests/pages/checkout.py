"""A fresh clone of what is checked out here, changes that are not committed included."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests import programs
from tests.programs import ROOT

#: What a reader has not set.
OURS = ("DATABASE_URL", "BROKER_URL", "DJANGO_", "SAS_", "SANDBOX_URL", "EMAIL_URL", "CELERY_")
#: `make venv` and `make demo` find the environment that these tests run in, and have nothing to do.
READY = f"ln -s {sys.prefix} .venv && touch -d 2000-01-01 requirements*.txt"


def origin(folder: Path) -> Path:
    """Make a repository of the files here, to be cloned."""
    for name in _files():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, folder / name)
    who = ["-c", "user.name=reader", "-c", "user.email=reader@example.org"]
    for words in (["init", "-q"], ["add", "-A"], [*who, "commit", "-q", "-m", "Here"]):
        subprocess.run(["git", *words], cwd=folder, check=True)
    return folder


def _files() -> list[str]:
    listed = programs.run(
        "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", check=True
    ).stdout
    return [name for name in listed.split("\0") if (ROOT / name).is_file()]


def environment(home: Path) -> dict[str, str]:
    """Return the variables of a reader whose virtual environment is activated."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
    return {**kept, "PATH": f"{sys.prefix}/bin:{os.environ['PATH']}", "HOME": str(home)}
