"""What is installed with us: named with its licence, and looked up honestly."""

import json
import re
import subprocess
from typing import Any

import pytest

from tests import audit, dependencies

OPEN = ("MIT", "BSD", "Apache", "ISC", "PSF", "MPL", "LGPL", "Artistic", "0BSD", "Unlicense", "CC0")


def test_the_page_of_dependencies_is_up_to_date():
    shown = dependencies.PAGE.read_text(encoding="utf-8").splitlines()

    # What is not installed on this machine or by this Python may stand there, too.
    assert [line for line in dependencies.page().splitlines() if line not in shown] == []
    every = {name for file in dependencies.FILES for name in dependencies.pinned(file)}
    named = {line.split("|")[1].strip() for line in shown if line.startswith("| ")}
    assert named - every == {"Package"}


def test_every_licence_is_known_and_open():
    for licences in dependencies.rows().values():
        for name, said in licences.items():
            assert said.startswith(OPEN), f"{name}: {said}"


PINS = ("requirements.txt", "requirements-dev.txt", "requirements-bench.txt")
MAKEFILE = (dependencies.ROOT / "Makefile").read_text(encoding="utf-8")


@pytest.mark.parametrize("file", PINS)
def test_every_pin_has_the_hashes_of_its_files(file):
    text = (dependencies.ROOT / file).read_text(encoding="utf-8")
    every = re.findall(r"^[A-Za-z0-9](?:.*\\\n)*.*", text, re.MULTILINE)

    assert len(every) == len(dependencies.pinned(file)) > 0
    hashed = r"[\w.\[\]-]+==\S+(?: ; [^\\\n]+)?(?: \\\n    --hash=sha256:[0-9a-f]{64})+"
    assert [one for one in every if not re.fullmatch(hashed, one)] == []
    # Each machine has an index of its own, and maybe one that nobody else should know.
    assert "://" not in text
    assert "--index" not in text


def test_nothing_is_installed_without_its_hash():
    installs = re.findall(r"pip install.*", MAKEFILE)

    assert len(installs) == len(PINS)
    assert [one for one in installs if "--require-hashes" not in one] == []
    assert "uv" in dependencies.pinned("requirements-dev.txt")


def done(*packages: dict[str, Any], text: str | None = None, stderr: str = "") -> audit.Run:
    out = json.dumps({"dependencies": packages, "fixes": []}) if text is None else text
    return lambda file: subprocess.CompletedProcess([file], 0, out, stderr)


GOOD = {"name": "django", "version": "5.2.19", "vulns": []}
BAD = {
    "name": "django",
    "version": "5.2.0",
    "vulns": [{"id": "PYSEC-1", "fix_versions": ["5.2.1"], "aliases": []}],
}
UNKNOWN = {"name": "django", "skip_reason": "not found on PyPI"}


@pytest.mark.parametrize(
    ("run", "code", "said"),
    [
        (done(GOOD), 0, "r.txt: 1 packages without a known one\n"),
        (
            done(GOOD, UNKNOWN),
            0,
            "r.txt: 1 packages without a known one, 1 could not be looked up\n",
        ),
        (done(BAD), 1, "django 5.2.0: PYSEC-1, mended in 5.2.1\n"),
        (done(UNKNOWN), 0, "r.txt: NOT audited: its service knows none of the packages\n"),
        (
            done(text="", stderr="a\nConnectionError: no route"),
            0,
            "r.txt: NOT audited: ConnectionError: no route\n",
        ),
    ],
)
def test_audit_says_which_packages_were_not_looked_up(capsys, run, code, said):
    assert audit.tell("r.txt", audit.audit("r.txt", run)) == code
    assert capsys.readouterr().out == said


def test_a_service_that_hangs_is_given_up(capsys):
    def hang(file: str) -> Any:
        raise subprocess.TimeoutExpired(file, audit.SECONDS)

    assert audit.tell("r.txt", audit.audit("r.txt", hang)) == 0
    assert "NOT audited: no answer within 180 s" in capsys.readouterr().out
