"""axe-core over a page in a real browser: what keeps somebody from reading or using it."""

import os
import shutil
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import Page

from tests import programs
from tests.services import missing

PROJECT = Path(__file__).parent
SECONDS = 300
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


@cache
def source() -> str:
    """Return axe's script, or skip the test where npm cannot bring it (in CI: fail it)."""
    if not shutil.which("npm"):
        missing("no npm on this machine")
    with TemporaryDirectory() as folder:
        for name in ("package.json", "package-lock.json"):
            shutil.copy(PROJECT / name, folder)
        words = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"]
        quiet = {**os.environ, "npm_config_update_notifier": "false"}
        installed = programs.run(*words, cwd=folder, env=quiet, seconds=SECONDS)
        if installed.returncode:
            missing(f"npm installs no axe-core: {installed.stderr[-300:]}")
        return (Path(folder) / "node_modules/axe-core/axe.min.js").read_text()


def violations(page: Page) -> list[str]:
    """Return what axe finds wrong with a page, a line each, with the first place of it."""
    page.evaluate(source())
    found = page.evaluate("(tags) => axe.run(document, {runOnly: tags})", RULES)
    return [
        f"{one['id']} ({one['impact']}, {len(one['nodes'])} times): {one['nodes'][0]['html'][:200]}"
        for one in found["violations"]
    ]
