"""Writes proofs/dependencies.md: what is installed with us, and under which licence.

``python -m tests.dependencies`` after ``make pins``; a guard test compares the page with
what is installed.
"""

import re
import sys
from importlib.metadata import PackageNotFoundError, metadata

from tests.programs import ROOT

PAGE = ROOT / "proofs" / "dependencies.md"
FILES = {"requirements.txt": "In production", "requirements-dev.txt": "For tests and linters"}
#: Classifiers and free text -> SPDX, where a package does not say it that way itself.
SPDX = {
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "BSD": "BSD-3-Clause",
    "Apache 2.0": "Apache-2.0",
    "Apache License 2.0": "Apache-2.0",
    "GNU Lesser General Public License v3 (LGPLv3)": "LGPL-3.0-only",
    "GNU Library or Lesser General Public License (LGPL)": "LGPL-2.1-or-later",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "LGPLv3": "LGPL-3.0-only",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
}
UNKNOWN = "unknown"
HEAD = """# Dependencies

What is installed with us, and under which licence its authors give it.
`make licences` writes this page from what each package says of itself.
Versions are pinned in `requirements.txt` and `requirements-dev.txt`, with the SHA-256 of all files.
`make audit` asks for known vulnerabilities in them, and says so where no service can be asked.
A test compares this page with what is installed.

The rules of bandit are those of ruff that begin with `S`; `make lint` applies them.
"""


def pinned(file: str) -> list[str]:
    """Return the names of the packages that a requirements file pins."""
    text = (ROOT / file).read_text(encoding="utf-8")
    return re.findall(r"^([A-Za-z0-9][\w.-]*)(?:\[[^\]]*\])?==", text, re.MULTILINE)


def licence(name: str) -> str | None:
    """Return what a package says of its licence; None: it is not installed here."""
    try:
        facts = metadata(name)
    except PackageNotFoundError:
        return None
    if expression := facts.get("License-Expression"):
        return expression
    prefix = "License :: OSI Approved :: "
    classifiers = facts.get_all("Classifier") or []
    said = [one.removeprefix(prefix) for one in classifiers if one.startswith(prefix)]
    if not said:
        # Some put the whole text of the licence there.
        said = [(facts.get("License") or UNKNOWN).strip().splitlines()[0]]
    return " / ".join(SPDX.get(one, one) for one in said)


def rows() -> dict[str, dict[str, str]]:
    """Return the licences of what is installed, by requirements file and package."""
    found: dict[str, dict[str, str]] = {}
    seen: set[str] = set()
    for file in FILES:
        found[file] = {
            name: said
            for name in pinned(file)
            if name not in seen and (said := licence(name)) is not None
        }
        seen |= set(found[file])
    return found


def page() -> str:
    """Return the page as it should be."""
    parts = [HEAD]
    for file, licences in rows().items():
        lines = [f"| {name} | {said} |" for name, said in sorted(licences.items())]
        parts.append(
            "\n".join([f"## {FILES[file]}", "", "| Package | Licence |", "|---|---|", *lines])
        )
    return "\n".join(f"{part.rstrip()}\n" for part in parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    sys.stderr.write(f"{PAGE.relative_to(ROOT)} is written.\n")
