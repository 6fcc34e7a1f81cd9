"""A TypeScript client made of the published description, with default options, works.

Needs Node.js, npm and a package registry. Where one is missing it is skipped; in CI it fails.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests import programs
from tests.programs import ROOT

PROJECT = ROOT / "tests" / "typescript"
PUBLISHED = ROOT / "docs" / "reference" / "openapi.json"
SECONDS = 240
pytestmark = pytest.mark.django_db(transaction=True)


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return programs.run(*words, cwd=folder, seconds=SECONDS)


def missing(reason: str) -> None:
    if os.environ.get("CI") == "true":
        pytest.fail(f"{reason}; CI must have it")
    pytest.skip(reason)


@pytest.fixture
def project(tmp_path) -> Path:
    """A folder with the client's source and what it needs."""
    if not shutil.which("npm"):
        missing("there is no npm")
    for path in PROJECT.iterdir():
        shutil.copy(path, tmp_path)
    installed = run(
        tmp_path, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"
    )
    if installed.returncode:
        missing(f"npm installs nothing: {installed.stderr[-300:]}")
    return tmp_path


@pytest.mark.volume
def test_a_client_made_with_default_options_compiles_and_works(project, acme, live_server):
    made = run(project, "npx", "openapi-typescript", str(PUBLISHED), "-o", "api.d.ts")
    assert made.returncode == 0, made.stderr

    compiled = run(project, "npx", "tsc")
    assert compiled.returncode == 0, compiled.stdout

    done = run(project, "node", "dist/client.js", live_server.url, acme.token, "SKU-1")
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
