"""What the engine adds to a project lies under its own names, and hides nothing of the project."""

import re
from pathlib import Path

import pytest

DESK = Path(__file__).resolve().parents[2] / "workers/desk"
CSS = (DESK / "static/workers/admin.css").read_text()


@pytest.mark.parametrize(
    ("folder", "own"), [("templates", ("admin/workers", "admin/desk")), ("static", ("workers",))]
)
def test_files_that_a_project_could_have_too_are_under_our_name(folder, own):
    files = [path for path in (DESK / folder).rglob("*") if path.is_file()]

    assert files
    ours = [DESK / folder / name for name in own]
    assert [path for path in files if not any(map(path.is_relative_to, ours))] == []


def test_other_themes_need_not_define_django_s_variables():
    """Each is named once, with what stands in for it; without a fill a graph is black."""
    ours, rules = re.split(r"(?<=\n)}\n", CSS.split(":root {", 1)[1], maxsplit=1)
    defined = dict(re.findall(r"^  (--sas-[a-z-]+): var\(--[a-z-]+, (.+)\);$", ours, re.MULTILINE))

    assert len(defined) == ours.count(";")
    used = set(re.findall(r"var\((--[a-z-]+)", rules))
    assert {name for name in used if not name.startswith("--sas-")} == {"--tone"}
    assert set(defined) <= used


@pytest.mark.parametrize("element", ["input", "select", "textarea", "button", "th", "td"])
def test_a_theme_s_reset_leaves_no_element_unseen_and_its_own_rules_come_first(element):
    """Under a reset a field has no frame; with specificity Django's own look would change."""
    rules = re.findall(r"^:where\(\.sas\) (.+?) {", CSS, re.MULTILINE)

    assert any(re.search(rf"\b{element}\b", rule) for rule in rules)
    assert [
        rule for rule in rules if re.sub(r":where\((?:[^()]|\([^()]*\))*\)", "", rule).strip()
    ] == []
