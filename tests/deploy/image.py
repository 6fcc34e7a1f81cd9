"""The folder that an image of the shop has: what the Dockerfile copies into it."""

import re
import shutil
from pathlib import Path

from tests.programs import ROOT


def copied_names() -> list[str]:
    """Return the files and folders of the repository that go into the image."""
    text = (ROOT / "Dockerfile").read_text()
    lines = re.findall(r"^COPY (?!--)(.*)$", text, re.MULTILINE)
    return [name for line in lines for name in line.split()[:-1]]


def copy_image(folder: Path) -> None:
    """Copy what goes into the image to a new folder."""
    folder.mkdir()
    for name in copied_names():
        source = ROOT / name
        copy = shutil.copytree if source.is_dir() else shutil.copy
        copy(source, folder / name)
